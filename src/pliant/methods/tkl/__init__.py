"""TKL and GKL: support vector machines with a kernel learned from a family of kernels."""
