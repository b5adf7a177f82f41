"""DANK and KNPL: a kernel matrix adapted entry by entry inside the support vector machine."""
