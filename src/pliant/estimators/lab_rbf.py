"""Regression with locally adaptive bandwidths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import validate_data

from pliant._typing import Array, Indices
from pliant._validation import check_integer, check_targets, check_vector, plain
from pliant.estimators._local_data import Table
from pliant.estimators._local_machine import LocalMachine, Probe

__all__ = ["LABRBFRegressor"]

SKEWED_TARGET = 0.9
"""A positive target at least as skewed as this may be learned as its logarithm."""

LEAST_ROWS = 1000
"""... with no fewer rows, on which held-out losses can tell,"""

GAIN = 0.95
"""... if that lowers the held-out loss, in the units of y, to this share."""


class LABRBFRegressor(MultiOutputMixin, RegressorMixin, LocalMachine):
    """PLACEHOLDER."""

    target_transform_: str | None
    target_low_: Array
    target_high_: Array
    n_outputs_: int

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> tuple[Table, Indices]:
        table, rows = self._weighted(*self._checked(X, y), sample_weight)
        self.target_transform_ = None
        self.target_low_, self.target_high_ = table.Y.min(axis=0), table.Y.max(axis=0)
        constant = np.flatnonzero(table.Y.max(axis=0) <= table.Y.min(axis=0))
        if len(constant):
            which = "y" if self._flat else f"y[:, {constant[0]}]"
            value = plain(table.Y[0, constant[0]])
            raise ValueError(
                f"expected a target that varies, got {which} = {value} in all {len(table)} rows"
            )
        return table, rows

    def _checked(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Array, Array]:
        if np.asarray(y).dtype.kind in "SUmM" or scipy.sparse.issparse(y):
            check_targets(y)  # says what was expected
        X, y = validate_data(
            self,
            X,
            y,
            dtype=(np.float64, np.float32),
            y_numeric=True,
            multi_output=True,
            ensure_min_samples=2,
            reset=reset,
        )
        Y = check_targets(y)
        if reset:
            self.n_outputs_ = 0 if Y.ndim == 1 else Y.shape[1]
        return X, Y.reshape(len(Y), -1)

    def _again(self, X: Any, y: Any, sample_weight: Any) -> Table:
        X, Y = self._checked(X, y, reset=False)
        if Y.shape[1] != self._width:
            raise ValueError(f"expected y with {self._width} outputs, got {Y.shape[1]}")
        table, _ = self._weighted(X, Y, sample_weight)
        low, high = table.Y.min(axis=0), table.Y.max(axis=0)
        table = self._logarithmic(table) if self.target_transform_ == "log" else table
        self.target_low_, self.target_high_ = low, high
        return table

    @property
    def _flat(self) -> bool:
        return self.n_outputs_ == 0

    @property
    def _width(self) -> int:
        return max(1, self.n_outputs_)

    def _scales(self, table: Table, probe: Probe) -> tuple[Table, list[str]]:
        """Learn log y as well, if the held-out loss in the units of y falls enough."""
        table, scales = super()._scales(table, probe)
        if not self._tries or len(table) < LEAST_ROWS or not _is_skewed(table.Y):
            return table, scales
        as_it_is = probe(table, scales[0])
        self.target_transform_ = "log"
        logarithmic = self._logarithmic(table)
        if probe(logarithmic, scales[0]) < GAIN * as_it_is:
            return logarithmic, scales
        self.target_transform_ = None
        return table, scales

    def _logarithmic(self, table: Table) -> Table:
        """Return the table with log y."""
        if not (table.Y > 0).all():
            raise ValueError(
                f"expected y > 0, since its logarithm was learned, got {table.Y.min():g}"
            )
        return Table(table.X, np.log(table.Y), table.weights)

    def _loss(self, table: Table, rows: Indices) -> Callable[[Array], float]:
        """Return the mean squared error in the units of y, relative to a constant's."""
        weights = None if table.weights is None else table.weights[rows]
        y = self._in_units(table.Y[rows]) / self._spread
        errors = (y - np.average(y, axis=0, weights=weights)) ** 2
        size = float(np.average(errors, axis=0, weights=weights).sum()) or 1.0

        def loss(predicted: Array) -> float:
            p = self._in_units(table.middle + table.spread * predicted.clip(-1.0, 1.0))
            squares = (p / self._spread - y) ** 2
            return float(np.average(squares, axis=0, weights=weights).sum()) / size

        return loss

    @property
    def _spread(self) -> Array:
        return self.target_high_ / 2 - self.target_low_ / 2

    def _in_units(self, Y: Array) -> Array:
        """Return targets in the units of y."""
        return np.exp(Y) if self.target_transform_ == "log" else Y

    def predict(self, X: npt.ArrayLike) -> Array:
        """Return the predicted target of each point, in the units of y and within its range.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        array of shape (m,) or (m, q)
        """
        predicted = self._in_units(self._line(X)).clip(self.target_low_, self.target_high_)
        return self._shaped(predicted)

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes, read from a file, do not belong together."""
        if self.target_transform_ not in (None, "log"):
            raise ValueError(
                f"expected target_transform_ None or 'log', got {self.target_transform_!r:.80}"
            )
        check_integer("n_outputs_", self.n_outputs_, least=0)
        super()._check_loaded()
        low = check_vector("target_low_", self.target_low_, self._width)
        high = check_vector("target_high_", self.target_high_, self._width)
        if not (low <= high).all():
            raise ValueError("expected target_low_ <= target_high_")


def _is_skewed(Y: Array) -> bool:
    """Whether all outputs are positive and skewed to the right."""
    if not (Y > 0).all():
        return False
    Y = Y / Y.max(axis=0)
    deviation = (Y - Y.mean(axis=0)) / Y.std(axis=0)
    return bool(((deviation**3).mean(axis=0) > SKEWED_TARGET).all())
