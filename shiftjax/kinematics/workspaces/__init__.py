"""What a mechanism reaches: boundaries of two freedoms as curves, grids of more, with types, margins, areas."""
