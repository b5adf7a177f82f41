"""Solvers of the saddle point problem of kernel learning."""
