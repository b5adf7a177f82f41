"""Kernels learned from labels or from pairs: SCG-LDK, LDK, OSK, and estimators on them."""
