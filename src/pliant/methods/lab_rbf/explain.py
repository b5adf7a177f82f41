"""Explanations of LAB-RBF predictions.

Let u_k(t) be the features of a point t as transformed by member k, which has the weight w_k. Then

    f(t) = sum_i w_k(i) c_i k(t, x_i)  +  sum_k w_k u_k(t)'v_k  +  sum_k w_k b_k,

the kernel part (a sum over the support points x_i of all members), the linear part and the
constant. The effect of feature j is e_j = sum_k w_k df_k/du_kj sd(u_kj); its share is
e_j^2 / sum_l e_l^2. If all members use the same transform, the share is proportional to
(df/du_j)^2 var(u_j).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.core.blocks import BLOCK_ENTRIES, row_blocks
from pliant.core.typing import Array, Indices
from pliant.methods.lab_rbf.constants import TINY
from pliant.methods.lab_rbf.members import LABRBFMember
from pliant.methods.summary import Tabular

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class LABRBFExplanation(Tabular):
    """Decomposition of the predictions of a LAB-RBF model at given points, printed as a table.

    All values are on the scale of the fit, before clipping: ``decision_function`` scores for a
    classifier, asinh(y / u) for a regressor with a ``target_unit_`` u, and y otherwise. With
    several outputs or more than two classes, the arrays of predictions, contributions and effects
    have a last axis over outputs.

    Attributes
    ----------
    prediction : array of shape (n_samples,) or (n_samples, n_outputs)
        ``kernel_part + linear_part + constant``.
    kernel_part, linear_part : arrays of the same shape
        Sum of the terms of all support points, and u(t)'v, both averaged over the members with
        their weights. The linear part is 0 where every transformed feature is at the middle of
        its range.
    constant : float or array of shape (n_outputs,)
        Weighted mean of the intercepts of the members.
    nearest : array of int of shape (n_samples, n_nearest)
        Support points at the smallest distances, in increasing order, as positions in
        ``support_``, ``support_vectors_`` and ``support_relevance_``. A sample may be a support
        point of several members.
    rows : array of int of shape (n_samples, n_nearest)
        Indices of the nearest support points in the training data.
    distances : array of shape (n_samples, n_nearest)
        Distances to the nearest support points, in units of their bandwidths.
    kernel_values : array of shape (n_samples, n_nearest)
        k(t, x_i), which is 1 at the support point itself.
    contributions : array of shape (n_samples, n_nearest) or (n_samples, n_nearest, n_outputs)
        Terms c_i k(t, x_i) of the kernel part, times the weight of the member.
    effects : array of shape (n_samples, n_features) or (n_samples, n_features, n_outputs)
        Derivative of the prediction with respect to each transformed feature, times the standard
        deviation of its training values. The change over a whole standard deviation differs where
        the prediction is curved.
    shares : array of the same shape
        Squared effects divided by their sum over the features. Shares sum to 1, or are 0 if no
        feature has an effect.
    feature_names : tuple of n_features str
        Names of the features; x0, x1 and so on if the model was fitted to an array.
    """

    prediction: Array
    kernel_part: Array
    linear_part: Array
    constant: float | Array
    nearest: Indices
    rows: Indices
    distances: Array
    kernel_values: Array
    contributions: Array
    effects: Array
    shares: Array
    feature_names: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return the parts and the effects for each sample and output, largest effects first."""
        import pandas as pd

        shape = self.prediction.shape
        names = ("prediction", "constant", "linear_part", "kernel_part")
        parts = {name: np.broadcast_to(getattr(self, name), shape).ravel() for name in names}
        effects = np.moveaxis(self.effects, 1, -1).reshape(-1, len(self.feature_names))
        order = np.argsort(-np.abs(effects).mean(axis=0), kind="stable")
        parts |= {f"{self.feature_names[j]} (effect)": effects[:, j] for j in order}
        labels = ["sample", "output"][: len(shape)]
        index = pd.MultiIndex.from_tuples(list(np.ndindex(shape)), names=labels)
        return pd.DataFrame(parts, index if len(shape) > 1 else index.get_level_values(0))

    def _shown(self) -> pd.DataFrame:
        """Return a row for each part and the six largest effects, and a column for each sample."""
        return self.to_frame().iloc[:, :10].T


def explain(
    members: list[LABRBFMember], X: Array, n_nearest: int, names: Sequence[str], *, single: bool
) -> LABRBFExplanation:
    """Explain the sum of the members at the rows of X; `single` drops the axis over outputs."""
    support = np.concatenate([member.support_ for member in members])
    width = 3 * len(support) + X.shape[1] * len(members[0].intercept_)
    blocks = (
        np.asarray(X[rows], dtype=np.float64) for rows in row_blocks(len(X), width, BLOCK_ENTRIES)
    )
    parts = [_explain_block(members, block, n_nearest) for block in blocks]
    whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    constant = np.sum([member.intercept_ for member in members], axis=0)
    whole["prediction"] = whole["kernel_part"] + whole["linear_part"] + constant
    if single:
        constant = float(constant[0])
        for name in ("prediction", "kernel_part", "linear_part", "contributions", "effects"):
            whole[name] = whole[name][..., 0]
    rows, squares = support[whole["nearest"]], whole["effects"] ** 2
    shares = squares / np.maximum(squares.sum(axis=1, keepdims=True), TINY)
    whole |= {"rows": rows, "shares": shares}
    return LABRBFExplanation(**whole, constant=constant, feature_names=tuple(map(str, names)))


def _explain_block(members: list[LABRBFMember], X: Array, n_nearest: int) -> dict[str, Any]:
    """Compute the arrays of an explanation for a block of points and all outputs."""
    terms = [member.terms(X) for member in members]
    K = np.hstack([each.kernel for each in terms])
    D = np.hstack([each.distances for each in terms])
    c = np.vstack([member.dual_coef_ for member in members])
    nearest = np.argsort(D, axis=1, kind="stable")[:, :n_nearest]
    values = np.take_along_axis(K, nearest, axis=1)
    linear, effects = np.zeros((len(X), c.shape[1])), np.zeros((*X.shape, c.shape[1]))
    for member, each in zip(members, terms, strict=True):
        linear += each.points @ member.linear_coef_
        columns = zip(member.dual_coef_.T, member.linear_coef_.T, strict=True)
        gradient = np.stack([each.gradient(*column) for column in columns], axis=-1)
        inside = X.clip(*member.limits_)  # f is constant beyond the limits
        gradient[member.warp_.flat(inside) | (inside != X)] = 0.0
        effects += gradient * member.deviations_[:, None]
    return {
        "kernel_part": K @ c,
        "linear_part": linear,
        "nearest": nearest,
        "distances": np.sqrt(np.take_along_axis(D, nearest, axis=1)),
        "kernel_values": values,
        "contributions": values[..., None] * c[nearest],
        "effects": effects,
    }
