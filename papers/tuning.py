"""How a contestant chooses sigma, C, eta_scale and its rule: by cross-validation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from papers.contestants import Contestant, Setting
from papers.fold import Fold
from papers.protocol import Protocol, Sample, folds, losses
from pliant.core.typing import Array

__all__ = ["CHOSEN", "FIXED", "TUNED", "Choice", "choices", "cross_validate", "setting", "variant"]

FIXED, TUNED = "fixed", "tuned"
"""Whether eta is the papers' automatic one, or a multiple chosen by cross-validation."""

CHOSEN = "chosen"
"""In place of a rule: the one with the least loss in cross-validation."""


def variant(eta: str, rule: str) -> str:
    """Return the name of one way to choose, such as ``fixed/nearest``."""
    return f"{eta}/{rule}"


@dataclass(frozen=True)
class Choice:
    """What was chosen, and its loss a row in cross-validation."""

    sigma: float
    C: float
    eta_scale: float
    rule: str
    loss: float


def setting(protocol: Protocol, sigma: float, C: float, eta_scale: float, tol: float) -> Setting:
    """Return the parameters of a machine; the Gaussian has gamma = 1/(2 sigma^2)."""
    return Setting(1.0 / (2.0 * sigma**2), C, eta_scale, tol, protocol.max_iter)


def cross_validate(
    contestant: Contestant, sample: Sample, protocol: Protocol, repeat: int
) -> Array:
    """Return the mean loss a row for each sigma, C, eta_scale and rule, in this order.

    Every sigma and C is tried with the papers' eta; multiples of it are tried within one step of
    the best sigma and C of any rule, and have the loss inf elsewhere.
    """
    scales = protocol.eta_scales if contestant.has_eta else protocol.eta_scales[:1]
    tried = np.ones((len(protocol.sigmas), len(protocol.Cs)), dtype=bool)
    loss = []
    for scale in scales:
        loss.append(_loss(contestant, sample, protocol, repeat, scale, tried))
        if len(loss) == 1:
            tried = _near_the_best(loss[0])
    return np.stack(loss, axis=2)


def _loss(
    contestant: Contestant,
    sample: Sample,
    protocol: Protocol,
    repeat: int,
    scale: float,
    tried: npt.NDArray[np.bool_],
) -> Array:
    """Return the mean loss for each sigma, C and rule, inf for those not tried."""
    total = np.zeros((*tried.shape, len(contestant.rules)))
    for train, valid in folds(sample, protocol.folds, repeat):
        fold = Fold(sample.task, sample.X[train], sample.y[train], sample.X[valid])
        for s in np.flatnonzero(tried.any(axis=1)):
            given = setting(protocol, protocol.sigmas[s], 1.0, scale, protocol.tuning_tol)
            Cs = np.array(protocol.Cs)[tried[s]]
            predicted = contestant.path(fold, Cs.tolist(), given)
            total[s, tried[s]] += losses(sample.task, sample.y[valid], predicted).sum(axis=-1)
    total[~tried] = np.inf
    return total / len(sample.y)


def _near_the_best(loss: Array) -> npt.NDArray[np.bool_]:
    """Return which sigma and C are within one step of the best of any rule."""
    near = np.zeros(loss.shape[:2], dtype=bool)
    for k in range(loss.shape[2]):
        s, c = np.unravel_index(loss[:, :, k].argmin(), near.shape)
        near[max(s - 1, 0) : s + 2, max(c - 1, 0) : c + 2] = True
    return near


def choices(contestant: Contestant, protocol: Protocol, loss: Array) -> dict[str, Choice]:
    """Return what each variant chooses, by its name.

    Of equal losses the first in the order of preference is taken: the widest kernel, then the
    least C, then the papers' eta, then the plainer rule.
    """
    found = {}
    for eta, scales in _etas(contestant, protocol):
        for rule, rules in _rules(contestant):
            part = loss[:, :, : len(scales), rules]
            s, c, e, r = np.unravel_index(part.argmin(), part.shape)
            found[variant(eta, rule)] = Choice(
                protocol.sigmas[s], protocol.Cs[c], scales[e],
                contestant.rules[rules][r], float(part.min()),
            )  # fmt: skip
    return found


def _etas(contestant: Contestant, protocol: Protocol) -> Iterator[tuple[str, tuple[float, ...]]]:
    yield FIXED, protocol.eta_scales[:1]
    if contestant.has_eta:
        yield TUNED, protocol.eta_scales


def _rules(contestant: Contestant) -> Iterator[tuple[str, slice]]:
    for k, rule in enumerate(contestant.rules):
        yield rule, slice(k, k + 1)
    if len(contestant.rules) > 1:
        yield CHOSEN, slice(None)
