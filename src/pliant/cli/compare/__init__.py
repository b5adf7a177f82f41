"""``pliant compare``: `command` parses, `plan` holds what is asked, `running` does it.

`text` and `tables` write the results for a terminal.
"""
