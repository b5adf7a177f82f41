"""``pliant fit``: `command` parses its options, `training` does what they ask."""
