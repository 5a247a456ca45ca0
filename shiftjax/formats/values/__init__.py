"""Values of a document with their places: numbers in units, names, expressions, points."""
