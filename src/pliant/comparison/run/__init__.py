"""What runs in a comparison: folds, the search for settings, cells, and the journal of them."""
