"""Kernels learned from labels or from pairs: SCG-LDK, LDK, OSK, and estimators that use them."""
