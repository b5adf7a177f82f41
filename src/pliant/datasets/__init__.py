"""Data to learn from: generated problems, and tables in a folder of your own."""

from pliant.datasets.generators import (
    make_clowns,
    make_speed_problem,
    make_terrain,
    terrain_elevation,
)
from pliant.datasets.local import Dataset, list_local, load_local

__all__ = [
    "Dataset",
    "list_local",
    "load_local",
    "make_clowns",
    "make_speed_problem",
    "make_terrain",
    "terrain_elevation",
]
