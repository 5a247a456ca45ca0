"""A mechanism moved by hand: drags, turns, goals that stay, and the history of its poses."""
