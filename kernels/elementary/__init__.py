"""Elementary functions as graphs of sums, products, quotients, roots, choices and four operations on bits."""
