"""``pliant demo``: `command` runs it, `study` measures, `page` and `drawings` show the result."""
