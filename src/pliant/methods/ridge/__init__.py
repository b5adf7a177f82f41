"""Kernel ridge regression with kernels that need not be symmetric."""
