"""Multiple kernel learning: the weights of many kernels."""
