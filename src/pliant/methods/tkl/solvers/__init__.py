"""Solvers of the saddle problem of kernel learning."""
