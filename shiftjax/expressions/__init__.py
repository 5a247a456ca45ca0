"""The one language of expressions: texts to trees, and their values; what names stand for is said where they are used."""
