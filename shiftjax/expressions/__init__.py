"""The one language of expressions: texts to trees, and the values of trees."""
