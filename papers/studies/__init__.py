"""Sections of the studies' pages."""
