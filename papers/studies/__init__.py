"""The sections of each study's page."""
