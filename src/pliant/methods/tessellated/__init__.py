"""TKL and GKL: a kernel of a cone of kernels, learned with the machine that uses it."""
