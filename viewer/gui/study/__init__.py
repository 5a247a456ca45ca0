"""The study pane: all members as a table and as plots, what is selected of them, and several of them in a grid."""
