"""Optimisation of the varied numbers of a study: many starts, each by itself, with the gradients of the runs."""
