"""Multiple kernel learning: weighted sums of kernels."""
