"""The methods under comparison; `papers/contestants.toml` has their settings."""
