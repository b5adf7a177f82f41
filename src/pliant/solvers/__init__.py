"""How problems are solved: solve(problem, start, ...) -> Result. A solver knows no kernel."""

from pliant.solvers._saddle import Saddle
from pliant.solvers.projections import (
    project_box_hyperplane,
    project_psd,
    project_simplex,
    project_spectraplex,
)
from pliant.solvers.result import Progress, Result, Status

__all__ = [
    "Progress",
    "Result",
    "Saddle",
    "Status",
    "project_box_hyperplane",
    "project_psd",
    "project_simplex",
    "project_spectraplex",
]
