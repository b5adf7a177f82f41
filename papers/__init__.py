"""The papers' tables and figures, measured again: one study framework."""
