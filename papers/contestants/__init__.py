"""Methods of the comparisons; `papers/contestants.toml` has their settings."""
