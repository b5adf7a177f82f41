"""Synthetic data sets."""

from pliant.datasets.from_papers import (
    cherkassky_function,
    make_bimodal,
    make_cherkassky,
    make_sandwich,
    step_function,
)
from pliant.datasets.generators import (
    make_clowns,
    make_speed_problem,
    make_terrain,
    terrain_elevation,
)
from pliant.datasets.messy import write_rentals

__all__ = [
    "cherkassky_function",
    "make_bimodal",
    "make_cherkassky",
    "make_clowns",
    "make_sandwich",
    "make_speed_problem",
    "make_terrain",
    "step_function",
    "terrain_elevation",
    "write_rentals",
]
