"""Measurements: how fast, how large, and how well beside others and beside the papers.

``python -m benchmarks --list`` names them, ``python -m benchmarks NAME`` runs one. Each measured
call has a process of its own, with its number of threads fixed; `harness` does the measuring, and
the other modules prepare the contestants of benchmarks.toml and cases.toml.
"""
