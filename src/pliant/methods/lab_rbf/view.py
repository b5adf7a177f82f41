"""What LAB-RBF machines show of what they learned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from pliant.core.typing import Array, Indices
from pliant.methods.lab_rbf.kernel import LocalRBFKernel
from pliant.methods.lab_rbf.member import LABRBFMember, row_blocks

__all__ = ["LocalView"]


class LocalView(BaseEstimator):
    """The mean of expansions, seen as one.

    Where all members map the features alike, the mean is itself one expansion, the support points
    of all members one after the other:
    ``kernel_(X, support_vectors_) @ dual_coef_ + X @ coef_ + intercept_``
    (``kernel_.warp(X) @ coef_``, where features were mapped to other scales).
    """

    n_features_in_: int
    members_: list[LABRBFMember]
    averaged_: npt.NDArray[np.bool_]

    def __sklearn_is_fitted__(self) -> bool:
        """Whether a fit came to its end."""
        return "members_" in vars(self)

    @property
    def _used(self) -> list[LABRBFMember]:
        """The members that predict."""
        members = self._fitted_members
        return [m for m, used in zip(members, self.averaged_, strict=True) if used]

    @property
    def _alike(self) -> list[LABRBFMember]:
        """The members that predict, if they map the features alike."""
        used = self._used
        if len({m.warp_.key() for m in used}) > 1:
            raise AttributeError(
                f"the members of this {type(self).__name__} map the features differently: use "
                "members_[k].kernel_, members_[k].dual_coef_ and so on"
            )
        return used

    def _line(self, X: npt.ArrayLike) -> Array:
        """Return the mean of the members' expansions, shape (n, q)."""
        check_is_fitted(self)
        used = self._used
        return np.concatenate(
            [sum(m.expand(block) for m in used) / len(used) for block in self._blocks(X)]
        )

    def _blocks(self, X: npt.ArrayLike) -> Iterator[Array]:
        """Go through points in blocks, float64."""
        points = validate_data(self, X, reset=False, dtype=(np.float64, np.float32))
        width = max(len(member.support_) for member in self._used) + points.shape[1]
        for rows in row_blocks(len(points), width):
            yield np.asarray(points[rows], dtype=np.float64)

    @property
    def kernel_(self) -> LocalRBFKernel:
        """The learned kernel, asymmetric: ``kernel_(X, support_vectors_)``."""
        first, *others = [member.kernel_ for member in self._alike]
        parts = [first, *others]
        return LocalRBFKernel(
            np.vstack([part.centres for part in parts]),
            np.vstack([part.bandwidths for part in parts]),
            first.profile,
            first.warp,
        )

    @property
    def support_(self) -> Indices:
        """Row numbers of the support points in the training data."""
        return np.concatenate([member.support_ for member in self._used])

    @property
    def support_vectors_(self) -> Array:
        """The support points, shape (n_support, d), in the units of the features."""
        return np.vstack([member.kernel_.centres for member in self._used])

    @property
    def bandwidths_(self) -> Array:
        """theta, shape (n_support, d), in inverse units; 0 for features that never vary."""
        return np.vstack([member.kernel_.bandwidths for member in self._alike])

    @property
    def dual_coef_(self) -> Array:
        """The coefficients of the support points: (n_support,), or (n_support, q) if q > 1."""
        used = self._alike
        return self._shaped(np.vstack([member.dual_coef_ for member in used]) / len(used))

    @property
    def coef_(self) -> Array:
        """The coefficients of the features: (d,), or (d, q) if q > 1; 0 without a linear part."""
        return self._shaped(np.mean([m.linear_part()[0] for m in self._alike], axis=0))

    @property
    def intercept_(self) -> Any:
        """The constant, a number, or shape (q,) if q > 1."""
        intercept = np.mean([m.linear_part()[1] for m in self._alike], axis=0)
        return float(intercept[0]) if self._flat else intercept

    @property
    def _flat(self) -> bool:
        """Whether there is one output only, given as a vector."""
        return True

    def _shaped(self, values: Array) -> Array:
        return values[:, 0] if self._flat else values

    @property
    def alpha_(self) -> Array:
        """The ridge of each member's coefficients."""
        return np.array([member.alpha_ for member in self._fitted_members])

    @property
    def shrinkage_(self) -> Array:
        """What held the bandwidths of each member together; inf: one for each feature."""
        return np.array([member.shrinkage_ for member in self._fitted_members])

    @property
    def validation_score_(self) -> Array:
        """How well each member did on the rows that it held out; 1 is perfect, 0 a constant."""
        return np.array([member.validation_score_ for member in self._fitted_members])

    @property
    def objective_history_(self) -> list[Array]:
        """The objective of each member after each step of its solver."""
        return [member.objective_history_ for member in self._fitted_members]

    @property
    def _fitted_members(self) -> list[LABRBFMember]:
        """All members, also those that do not predict."""
        if "members_" not in vars(self):
            raise AttributeError(f"this {type(self).__name__} has not been fitted")
        return self.members_

    @property
    def feature_relevance_(self) -> Array:
        """How much of the slope of f lies along each feature, shape (d,); sums to 1.

        The mean of (df/du_j)^2 var(u_j) over training points, u the mapped features, over outputs
        and members.
        """
        slopes = np.sum([m.slopes_ / max(m.slopes_.sum(), TINY) for m in self._used], axis=0)
        return np.asarray(slopes / max(slopes.sum(), TINY))

    @property
    def support_relevance_(self) -> Array:
        """The same for each support point's own term, shape (n_support, d); rows sum to 1."""
        slopes = np.vstack([member.support_slopes_ for member in self._used])
        return np.asarray(slopes / np.maximum(slopes.sum(axis=1, keepdims=True), TINY))

    def distance_to_support(self, X: npt.ArrayLike) -> Array:
        """Return how far each point is from the nearest support point, in its bandwidths.

        That is min_i |theta_i o (t - c_i)| over all members. A Gaussian of distance 2 is worth
        .02: beyond, a prediction returns to the linear part, or to the mean.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        array of shape (n,)
        """
        check_is_fitted(self)
        parts = [
            np.min([m.kernel_.squares(block).min(axis=1) for m in self._used], axis=0)
            for block in self._blocks(X)
        ]
        return np.sqrt(np.concatenate(parts))

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes, read from a file, do not belong together."""
        members: object = self.members_
        if not isinstance(members, list) or not members:
            raise ValueError("expected a list of members_")
        if not all(isinstance(m, LABRBFMember) for m in members):
            raise ValueError("expected members_ to be members of a LAB-RBF machine")
        averaged = np.asarray(self.averaged_)
        if averaged.shape != (len(members),) or averaged.dtype != bool or not averaged.any():
            raise ValueError(f"expected averaged_ to say of {len(members)} members which predict")
        shapes = {(m.kernel_.centres.shape[1], len(m.intercept_)) for m in members}
        if shapes != {(self.n_features_in_, self._width)}:
            raise ValueError(
                f"expected members of {self.n_features_in_} features and {self._width} outputs, "
                f"got {sorted(shapes)}"
            )

    @property
    def _width(self) -> int:
        """The number of outputs of the members."""
        return 1


TINY = float(np.finfo(np.float64).tiny)
