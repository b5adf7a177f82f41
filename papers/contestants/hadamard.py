"""A plain support vector machine, and DANK and KNPL by every rule for new points.

All select sigma and C, and the learned kernels eta and the rule, by cross-validation on one grid.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from papers.batch import batch_decision_function
from papers.contestants.tuned import Setting, predicted_labels
from papers.sample import Labels, Protocol, Sample, folds, losses, to_tune_on
from papers.study import Contestant, Needed, Record, Variants
from pliant import C_path, DANKClassifier, DANKRegressor, KNPLClassifier, KNPLRegressor
from pliant.core.typing import Array, Mask

EPSILON = 0.1
"""Epsilon of regression, in standard deviations of the training target."""

RULES = ("none", "smooth", "nearest", "reciprocal")
"""Rules for new points, in order of preference for ties."""

BATCH = "batch"
"""The DANK paper's rule, with predictions that depend on the other rows of the batch."""

FIXED, TUNED = "fixed", "tuned"
"""Settings of eta: the papers' automatic one, or a multiple selected by cross-validation."""

CHOSEN = "chosen"
"""Instead of a rule: the one with the smallest loss in cross-validation."""


class Searched(Contestant):
    """A contestant with a grid of sigma, C, multiples of eta and rules for new points."""

    rules: Sequence[str] = RULES
    has_eta: bool = True
    leaks: bool = False
    """True if the accuracy on the test rows selects, to show the effect of this mistake."""

    def path(self, sample: Sample, sigma: float, Cs: Sequence[float], **held: Any) -> list[Any]:
        """Return a fitted model for each C."""
        raise NotImplementedError

    def predict(self, model: Any, X: Array, rule: str) -> Labels:
        """Predict rows by a rule."""
        return np.asarray(model.predict(X))

    def measure(self, sample: Sample, protocol: Protocol, repeat: int, needed: Needed) -> Variants:
        """Select the parameters of every variant; fit each selected combination once."""
        held = {"tol": protocol.tol, "max_iter": protocol.max_iter}
        tune_on = to_tune_on(sample, protocol.tuning_rows, repeat)
        fitted: dict[tuple[float, ...], Any] = {}
        variants = {}
        for name, choice in choices(self, protocol, self.loss(tune_on, protocol, repeat)).items():
            sigma, C, scale = key = choice["sigma"], choice["C"], choice["eta_scale"]
            if key not in fitted:
                (fitted[key],) = self.path(sample, sigma, [C], eta_scale=scale, **held)
            variants[name] = self.judged(fitted[key], sample, protocol, choice)
        return variants

    def judged(self, model: Any, sample: Sample, protocol: Protocol, choice: Setting) -> Record:
        """Return the selected parameters, and the scores of training and test rows."""
        rows = {"train": (sample.X, sample.y), "test": (sample.X_test, sample.y_test)}
        return choice | {
            part: protocol.judge(sample.task, y, self.predict(model, X, choice["rule"]))
            for part, (X, y) in rows.items()
        }

    def loss(self, sample: Sample, protocol: Protocol, repeat: int) -> Array:
        """Return the mean loss per row for each sigma, C, eta_scale and rule, in this order.

        Every sigma and C is tried with the papers' eta. Multiples of eta are tried within one step
        of the best sigma and C of any rule, and have the loss inf elsewhere.
        """
        grid = len(protocol.powers)
        tried = np.ones((grid, grid), dtype=bool)
        found: list[Array] = []
        for scale in protocol.eta_scales if self.has_eta else protocol.eta_scales[:1]:
            found.append(self._loss(sample, protocol, repeat, scale, tried))
            if len(found) == 1:
                tried = _near_the_best(found[0])
        return np.stack(found, axis=2)

    def _loss(
        self, sample: Sample, protocol: Protocol, repeat: int, scale: float, tried: Mask
    ) -> Array:
        sigmas, Cs = _grid(protocol)
        held = {"tol": protocol.tuning_tol, "max_iter": protocol.max_iter}
        total = np.zeros((*tried.shape, len(self.rules)))
        pairs = [(sample, sample.X_test, sample.y_test)]
        if not self.leaks:
            pairs = [
                (sample.some(learn), sample.X[judge], sample.y[judge])
                for learn, judge in folds(sample, protocol.folds, repeat)
            ]
        for part, X, y in pairs:
            for s in np.flatnonzero(tried.any(axis=1)):
                models = self.path(part, sigmas[s], Cs[tried[s]].tolist(), eta_scale=scale, **held)
                total[s, tried[s]] += [
                    [losses(sample.task, y, self.predict(m, X, rule)).sum() for rule in self.rules]
                    for m in models
                ]
        total[~tried] = np.inf
        return total / sum(len(y) for _, _, y in pairs)


def _grid(protocol: Protocol) -> tuple[Array, Array]:
    """Return sigmas and Cs in order of preference: the widest kernel and the smallest C first."""
    powers = 2.0 ** np.sort(protocol.powers)
    return powers[::-1], powers


def _near_the_best(loss: Array) -> Mask:
    """Return True for sigma and C within one step of the best of any rule."""
    near = np.zeros(loss.shape[:2], dtype=bool)
    for k in range(loss.shape[2]):
        s, c = np.unravel_index(loss[:, :, k].argmin(), near.shape)
        near[max(s - 1, 0) : s + 2, max(c - 1, 0) : c + 2] = True
    return near


def choices(who: Searched, protocol: Protocol, loss: Array) -> dict[str, Setting]:
    """Return the parameters of each variant by its name, such as ``fixed/nearest``.

    Ties go to the first in the order of preference: the widest kernel, then the
    smallest C, then the papers' eta, then the simpler rule.
    """
    sigmas, Cs = _grid(protocol)
    rules = {rule: slice(k, k + 1) for k, rule in enumerate(who.rules)}
    rules |= {CHOSEN: slice(None)} if len(rules) > 1 else {}
    etas = {FIXED: 1, TUNED: loss.shape[2]} if who.has_eta else {FIXED: 1}
    chosen = {}
    for eta, count in etas.items():
        for name, part in rules.items():
            found = loss[:, :, :count, part]
            s, c, e, r = np.unravel_index(found.argmin(), found.shape)
            chosen[f"{eta}/{name}"] = {
                "sigma": float(sigmas[s]), "C": float(Cs[c]), "eta_scale": protocol.eta_scales[e],
                "rule": who.rules[part][r], "loss": float(found.min()),
            }  # fmt: skip
    return chosen


class PlainSVM(Searched):
    """The Gaussian SVM or epsilon-SVR of scikit-learn."""

    rules = ("none",)
    has_eta = False

    def path(self, sample: Sample, sigma: float, Cs: Sequence[float], **held: Any) -> list[Any]:
        given = {"gamma": gamma_of(sigma), "max_iter": held["max_iter"], "cache_size": 500}
        if sample.task == "classification":
            models: list[Any] = [SVC(C=C, **given) for C in Cs]
        else:
            svrs = [SVR(C=C, **given, epsilon=EPSILON) for C in Cs]
            models = [TransformedTargetRegressor(m, transformer=StandardScaler()) for m in svrs]
        return [model.fit(sample.X, sample.y) for model in models]


class Hadamard(Searched):
    """DANK with a given tau, or KNPL."""

    tau: float | None = None

    def path(self, sample: Sample, sigma: float, Cs: Sequence[float], **held: Any) -> list[Any]:
        model = learned(sample.task, self.tau, sigma, **held)
        return list(C_path(model, sample.X, sample.y, Cs))

    def predict(self, model: Any, X: Array, rule: str) -> Labels:
        """Predict rows by a rule; with the paper's rule they are one batch."""
        if rule == BATCH:
            values = batch_decision_function(model, X)
            return (
                predicted_labels(values, model.classes_) if hasattr(model, "classes_") else values
            )
        for each in getattr(model, "estimators_", [model]):
            each.kernel_.set_params(extension=rule)
        return np.asarray(model.predict(X))


def gamma_of(sigma: float) -> float:
    """Return the gamma of exp(-gamma d^2) = exp(-d^2/(2 sigma^2))."""
    return 1.0 / (2.0 * sigma**2)


def learned(task: str, tau: float | None, sigma: float, **held: Any) -> Any:
    """Return an unfitted DANK, or KNPL if tau is None."""
    options = {"gamma": gamma_of(sigma), "extension": "smooth", **held}
    options |= {} if tau is None else {"tau": tau}
    if task == "classification":
        return (KNPLClassifier if tau is None else DANKClassifier)(**options)
    return (KNPLRegressor if tau is None else DANKRegressor)(**options, epsilon=EPSILON)


class AllTaus(Hadamard):
    """DANK at all `taus`, with sigma and C selected by DANK at tau = .01 with the same rule."""

    taus: Sequence[float]
    chosen_rules: Sequence[str]

    def measure(self, sample: Sample, protocol: Protocol, repeat: int, needed: Needed) -> Variants:
        """Score DANK and compute the rank of F at each tau, with the papers' eta."""
        assert needed is not None
        return {
            name: found
            for rule in self.chosen_rules
            for name, found in self._by_rule(sample, protocol, rule, needed)
        }

    def _by_rule(
        self, sample: Sample, protocol: Protocol, rule: str, needed: Record
    ) -> Iterator[tuple[str, Record]]:
        choice = needed["variants"][f"{FIXED}/{rule}"]
        held = {"tol": protocol.tol, "max_iter": protocol.max_iter}
        held |= {key: choice[key] for key in ("C", "eta_scale")}
        for tau in self.taus:
            model = learned(sample.task, tau, choice["sigma"], **held)
            model.fit(sample.X, sample.y)
            ranks = [m.adaptation_.rank for m in getattr(model, "estimators_", [model])]
            found = self.judged(model, sample, protocol, choice)
            yield f"{tau:g}/{rule}", {**found, "rank": float(np.mean(ranks))}
