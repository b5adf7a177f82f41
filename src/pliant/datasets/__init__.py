"""Generated problems to learn from."""

from pliant.datasets.generators import (
    make_clowns,
    make_speed_problem,
    make_terrain,
    terrain_elevation,
)
from pliant.datasets.messy import write_rentals

__all__ = [
    "make_clowns",
    "make_speed_problem",
    "make_terrain",
    "terrain_elevation",
    "write_rentals",
]
