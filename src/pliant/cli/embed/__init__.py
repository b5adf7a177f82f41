"""``pliant embed``: `command` parses its options, `embedding` does what they ask."""
