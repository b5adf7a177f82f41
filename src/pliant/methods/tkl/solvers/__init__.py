"""Solvers for the saddle point problem of kernel learning."""
