"""Kernel ridge regression, sketched or with asymmetric kernels."""
