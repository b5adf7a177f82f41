"""Measure time, memory and accuracy of pliant, of other software and of the papers' algorithms.

``python -m benchmarks --list`` lists the benchmarks, ``python -m benchmarks NAME`` runs one. Each
measured call runs in a separate process with a fixed number of threads. `harness` measures, and
the other modules prepare the contestants of benchmarks.toml and cases.toml.
"""
