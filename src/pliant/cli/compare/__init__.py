"""``pliant compare``: `command` parses, `plan` holds what is asked, `running` does it.

`text` writes the results for a terminal.
"""
