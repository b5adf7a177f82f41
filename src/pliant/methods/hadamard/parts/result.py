"""What solving one part gives, as plain data that any backend can carry."""

from __future__ import annotations

from typing import NamedTuple

from pliant.core.typing import Array

__all__ = ["PartResult"]


class PartResult(NamedTuple):
    """The solution of one part's problem.

    Attributes
    ----------
    beta : array of shape (m,)
        Coefficients of the part's m rows, in the order of the rows.
    value : float
        The part's objective at `beta`.
    gap : float
        A bound on the distance of `value` from the part's optimum, in units of the objective;
        nan where there is no certificate.
    n_iter : int
        Iterations done.
    status : str
        Why the solver stopped, the name of a `pliant.core.progress.Status`.
    seconds : float
        Processor time of the thread that ran the part, which `run_parts` fills in. What a BLAS
        of several threads does besides is not counted.
    """

    beta: Array
    value: float
    gap: float
    n_iter: int
    status: str
    seconds: float = 0.0
