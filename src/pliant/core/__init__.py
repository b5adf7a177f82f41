"""Tools of all methods: validation, linear algebra, progress, results, threads and files."""
