"""Synthetic data sets for examples."""

from pliant.datasets.generators import (
    make_clowns,
    make_sandwich,
    make_terrain,
    terrain_elevation,
)
from pliant.datasets.messy import write_rentals

__all__ = ["make_clowns", "make_sandwich", "make_terrain", "terrain_elevation", "write_rentals"]
