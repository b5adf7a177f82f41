"""Shared by all methods: validation, linear algebra, progress, results, threads and files."""
