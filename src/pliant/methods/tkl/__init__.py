"""TKL and GKL: support vector machines that learn their kernel from a family of kernels."""
