"""Kernel ridge regression: on a sketch, and with asymmetric kernels."""
