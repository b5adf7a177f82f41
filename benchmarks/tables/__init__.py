"""LAB-RBF and other methods, with default settings, on many tables."""
