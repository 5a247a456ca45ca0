"""A small picture for each kind of the catalogue, as SVG that takes the colours of the page around it."""
