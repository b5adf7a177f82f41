"""LAB-RBF: ridge regression on Gaussians with a bandwidth for each support point and feature."""
