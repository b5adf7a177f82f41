"""What all methods share: validation, linear algebra, progress, files, results, kernels."""
