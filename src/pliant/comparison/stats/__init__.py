"""What scores show: paired tests, ranks, and methods beside each other on one table or several."""
