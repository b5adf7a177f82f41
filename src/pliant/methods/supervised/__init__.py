"""Kernels learned from labels or from pairs: SCG-LDK, LDK, OSK, and what uses them."""
