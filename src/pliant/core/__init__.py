"""Tools shared by all methods: validation, linear algebra, progress, results, threads, files."""
