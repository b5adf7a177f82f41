"""Kernel ridge regression and classification on a sketch: all rows, a few centres."""
