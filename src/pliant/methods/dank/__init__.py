"""DANK and KNPL: support vector machines with a kernel matrix adapted entry by entry."""
