"""Equilibria along a load: curves, where they turn and meet, what is recorded of them."""
