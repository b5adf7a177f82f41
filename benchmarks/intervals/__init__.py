"""Prediction intervals and probabilities of LAB-RBF and of other methods, on many tables."""
