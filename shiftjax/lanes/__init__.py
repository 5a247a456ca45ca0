"""Lane code in its one form: scalars that build a graph of operations, and what is made of a graph."""
