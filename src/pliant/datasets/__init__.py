"""Generated problems to learn from."""

from pliant.datasets.generators import (
    make_clowns,
    make_speed_problem,
    make_terrain,
    terrain_elevation,
)

__all__ = [
    "make_clowns",
    "make_speed_problem",
    "make_terrain",
    "terrain_elevation",
]
