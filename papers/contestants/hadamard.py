"""A plain support vector machine, and DANK and KNPL by every rule for new points.

All choose sigma and C, and the learned kernels eta and the rule, by cross-validation on one grid.
What depends on the distances of a fold alone is computed once for all parameters and rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist
from sklearn.svm import SVC, SVR

from papers.data import PaperSet, read
from papers.sample import Labels, Sample, folds, halves, losses, to_tune_on
from papers.study import Contestant, Protocol, Record, Variants
from pliant import (
    C_path,
    DANKClassifier,
    DANKRegressor,
    KNPLClassifier,
    KNPLRegressor,
    batch_decision_function,
)
from pliant.core.kernels.extension import CoordinateNeighbors, nearest, reciprocal
from pliant.core.typing import Array, Indices

EPSILON = 0.1
"""Errors that regression leaves free, in standard deviations of the training target."""

RULES = ("none", "smooth", "nearest", "reciprocal")
"""The rules for new points, in order of preference among equals."""

BATCH = "batch"
"""The DANK paper's rule, by which a prediction depends on the other rows that are predicted."""

TAUS = (0.0, 0.001, 0.01, 0.1, 1.0)
"""The tau of the table on the rank of F."""

FIXED, TUNED = "fixed", "tuned"
"""Whether eta is the papers' automatic one, or a multiple chosen by cross-validation."""

CHOSEN = "chosen"
"""In place of a rule: the one with the least loss in cross-validation."""

Predictions = npt.NDArray[Any]


@dataclass(frozen=True)
class Tuning(Protocol):
    """The grid that the contestants choose from, and how exactly they are solved."""

    powers: tuple[int, ...] = tuple(range(-5, 6))
    """sigma and C run over 2**p for p in powers; gamma = 1/(2 sigma^2)."""
    eta_scales: tuple[float, ...] = (1.0, 10.0, 0.1)
    """Multiples of the automatic eta; the first one is the papers' own."""
    folds: int = 5
    """Of cross-validation."""
    tuning_rows: int = 600
    """Parameters are chosen on this many training rows at most."""
    tuning_tol: float = 1e-3
    final_tol: float = 1e-4
    """Relative gaps of the fits while choosing, and of the last one."""
    max_iter: int = 1_000_000
    """The limit of each solve."""

    @property
    def sigmas(self) -> tuple[float, ...]:
        """Widths in order of preference among equals: the widest first."""
        return tuple(2.0**p for p in sorted(self.powers, reverse=True))

    @property
    def Cs(self) -> tuple[float, ...]:
        """Penalties in order of preference among equals: the least first."""
        return tuple(2.0**p for p in sorted(self.powers))

    def sample(
        self, name: str, chosen: PaperSet, folder: str, repeat: int, contestant: Contestant
    ) -> Sample:
        """Return halves of the rows."""
        return halves(name, read(chosen, folder), repeat, clipped=chosen.clipped)

    def setting(self, sigma: float, C: float, eta_scale: float, tol: float) -> Setting:
        """Return the parameters of a model; the Gaussian has gamma = 1/(2 sigma^2)."""
        return Setting(1.0 / (2.0 * sigma**2), C, eta_scale, tol, self.max_iter)


@dataclass(frozen=True)
class Setting:
    """The parameters of a fit."""

    gamma: float
    C: float
    eta_scale: float
    tol: float
    max_iter: int


@dataclass(frozen=True)
class Choice:
    """What was chosen, and its mean loss per row in cross-validation."""

    sigma: float
    C: float
    eta_scale: float
    rule: str
    loss: float


@dataclass(frozen=True, eq=False)
class Places:
    """The training points whose rows and columns of F new points take over."""

    members: Indices
    """Shape (p,). The training points, as rows of the fold."""
    used: Indices
    """Shape (q,). The places that are taken, as indices of `members`."""
    nearest: Indices
    reciprocal: Indices
    """Shape (m,). For each new point its place by either rule, as an index of `used`."""


class Fold:
    """Training rows X, y of shape (n, d), (n,), and rows X_new of shape (m, d) to predict."""

    def __init__(self, task: str, X: Array, y: Labels, X_new: Array) -> None:
        self.task, self.X, self.y, self.X_new = task, X, y, X_new
        self._places: dict[tuple[Any, ...], Places] = {}

    def gram(self, gamma: float) -> Array:
        """Return the Gaussian Gram matrix of the training rows, (n, n)."""
        return np.asarray(np.exp(-gamma * self._within))

    def cross_gram(self, gamma: float) -> Array:
        """Return the Gaussian kernel between the new rows and the training rows, (m, n)."""
        return np.asarray(np.exp(-gamma * self._between))

    def places(self, classes: tuple[Any, ...] = ()) -> Places:
        """Return the places among the rows of some classes, of all rows by default."""
        if classes not in self._places:
            inside = np.isin(self.y, classes) if classes else np.ones(len(self.y), dtype=bool)
            members = np.flatnonzero(inside)
            neighbors = CoordinateNeighbors(self.X[members])
            both = [nearest(neighbors, self.X_new), reciprocal(neighbors, self.X_new)]
            used, order = np.unique(np.concatenate(both), return_inverse=True)
            m = len(self.X_new)
            self._places[classes] = Places(members, used, order[:m], order[m:])
        return self._places[classes]

    @cached_property
    def _within(self) -> Array:
        return cdist(self.X, self.X, "sqeuclidean")

    @cached_property
    def _between(self) -> Array:
        return cdist(self.X_new, self.X, "sqeuclidean")


class Searched(Contestant):
    """A contestant of the grid: it predicts for many C at once, and by several rules."""

    rules: tuple[str, ...] = RULES
    has_eta: bool = True

    def path(self, fold: Fold, Cs: Sequence[float], setting: Setting) -> Predictions:
        """Predict the fold's new rows for each C and rule, (n_Cs, n_rules, m)."""
        raise NotImplementedError

    def final(
        self, sample: Sample, rules: Sequence[str], setting: Setting
    ) -> dict[str, tuple[Predictions, Predictions]]:
        """Fit once; return for each rule the predictions of training and test rows."""
        raise NotImplementedError

    def measure(self, sample: Sample, protocol: Tuning, repeat: int, needed: Any) -> Variants:
        """Let every variant choose; fit what was chosen, each combination once."""
        tune_on = to_tune_on(sample, protocol.tuning_rows, repeat)
        chosen = choices(self, protocol, cross_validate(self, tune_on, protocol, repeat))
        variants: Variants = {}
        for sigma, C, scale in dict.fromkeys((c.sigma, c.C, c.eta_scale) for c in chosen.values()):
            alike = {
                name: c
                for name, c in chosen.items()
                if (c.sigma, c.C, c.eta_scale) == (sigma, C, scale)
            }
            rules = list(dict.fromkeys(c.rule for c in alike.values()))
            given = protocol.setting(sigma, C, scale, protocol.final_tol)
            outcomes = self.final(sample, rules, given)
            variants |= {name: _score(sample, c, *outcomes[c.rule]) for name, c in alike.items()}
        return {name: variants[name] for name in chosen}


def _score(sample: Sample, choice: Choice, train: Any, test: Any) -> Record:
    return {
        **asdict(choice),
        "train": judge(sample.task, sample.y, train),
        "test": judge(sample.task, sample.y_test, test),
    }


def judge(task: str, y: Labels, predicted: Predictions) -> float:
    """Return the accuracy, or for regression 1 - R2 (the papers call it RMSE)."""
    total = float(losses(task, y, predicted).sum())
    if task == "classification":
        return 1.0 - total / len(y)
    targets = np.asarray(y, dtype=np.float64)
    return total / float(((targets - targets.mean()) ** 2).sum())


@dataclass(frozen=True)
class PlainSVM(Searched):
    """The Gaussian SVM or epsilon-SVR of scikit-learn."""

    name: str = "svm"
    title: str = "SVM-CV"
    rules = ("none",)
    has_eta = False

    def path(self, fold: Fold, Cs: Sequence[float], setting: Setting) -> Predictions:
        """Predict the fold's new rows for each C, (n_Cs, 1, m)."""
        gram, cross_gram = fold.gram(setting.gamma), fold.cross_gram(setting.gamma)
        return np.stack([_plain(fold.task, fold.y, gram, [cross_gram], C, setting) for C in Cs])

    def final(
        self, sample: Sample, rules: Sequence[str], setting: Setting
    ) -> dict[str, tuple[Predictions, Predictions]]:
        """Fit once; return the predictions of training and test rows."""
        fold = Fold(sample.task, sample.X, sample.y, sample.X_test)
        gram, cross_gram = fold.gram(setting.gamma), fold.cross_gram(setting.gamma)
        train, test = _plain(sample.task, sample.y, gram, [gram, cross_gram], setting.C, setting)
        return dict.fromkeys(rules, (train, test))


def _plain(
    task: str, y: Labels, gram: Array, grams: Sequence[Array], C: float, setting: Setting
) -> list[Predictions]:
    """Fit to a Gram matrix; predict the rows of others."""
    options = {"kernel": "precomputed", "C": C, "max_iter": setting.max_iter}
    if task == "classification":
        model = SVC(**options).fit(gram, y)
        return [model.predict(rows) for rows in grams]
    centre, scale = y.mean(), y.std()
    model = SVR(**options, epsilon=EPSILON).fit(gram, (y - centre) / scale)
    return [centre + scale * model.predict(rows) for rows in grams]


@dataclass(frozen=True)
class Hadamard(Searched):
    """DANK at some tau; or KNPL, which has none."""

    name: str
    title: str
    tau: float | None = None

    def model(self, task: str, setting: Setting) -> Any:
        """Return the estimator, not fitted; it predicts by the smooth rule."""
        options = {**vars(setting), "extension": "smooth"}
        options |= {} if self.tau is None else {"tau": self.tau}
        if task == "classification":
            return (KNPLClassifier if self.tau is None else DANKClassifier)(**options)
        kind = KNPLRegressor if self.tau is None else DANKRegressor
        return kind(**options, epsilon=EPSILON)

    def path(self, fold: Fold, Cs: Sequence[float], setting: Setting) -> Predictions:
        """Predict the fold's new rows for each C and rule, (n_Cs, n_rules, m)."""
        cross_gram = fold.cross_gram(setting.gamma)
        models = C_path(self.model(fold.task, setting), fold.X, fold.y, Cs)
        return np.stack([by_rules(model, fold, cross_gram) for model in models])

    def final(
        self, sample: Sample, rules: Sequence[str], setting: Setting
    ) -> dict[str, tuple[Predictions, Predictions]]:
        """Fit once; return for each rule the predictions of training and test rows."""
        model = self.model(sample.task, setting).fit(sample.X, sample.y)
        return {rule: _predicted(model, sample, rule) for rule in rules}


def _predicted(model: Any, sample: Sample, rule: str) -> tuple[Predictions, Predictions]:
    set_rule(model, rule)
    return model.predict(sample.X), model.predict(sample.X_test)


@dataclass(frozen=True)
class BatchDANK(Hadamard):
    """DANK by the paper's own rule: all rows to predict are one batch, in cross-validation too."""

    name: str = "batch-dank"
    title: str = "DANK, batch rule"
    tau: float | None = 0.01
    rules = (BATCH,)

    def path(self, fold: Fold, Cs: Sequence[float], setting: Setting) -> Predictions:
        """Predict the fold's new rows for each C, (n_Cs, 1, m)."""
        models = C_path(self.model(fold.task, setting), fold.X, fold.y, Cs)
        return np.stack([by_batch(model, fold.X_new)[None] for model in models])

    def final(
        self, sample: Sample, rules: Sequence[str], setting: Setting
    ) -> dict[str, tuple[Predictions, Predictions]]:
        """Fit once; return the predictions of training and test rows."""
        model = self.model(sample.task, setting).fit(sample.X, sample.y)
        train, test = by_batch(model, sample.X), by_batch(model, sample.X_test)
        return dict.fromkeys(rules, (train, test))


@dataclass(frozen=True)
class AllTaus(Contestant):
    """DANK at all `TAUS`, with the sigma and C that DANK chose at tau = .01."""

    name: str = "dank-taus"
    title: str = "DANK at each tau"
    taus: tuple[float, ...] = TAUS

    @property
    def needs(self) -> Contestant:  # type: ignore[override]
        """DANK at tau = .01."""
        return CONTESTANTS["dank-0.01"]

    def measure(self, sample: Sample, protocol: Tuning, repeat: int, needed: Any) -> Variants:
        """Score DANK and count the rank of F at each tau; eta is the papers', by either rule."""
        assert needed is not None
        variants = {}
        for rule in ("reciprocal", CHOSEN):
            chosen: Mapping[str, Any] = needed["variants"][f"{FIXED}/{rule}"]
            choice = Choice(**{key: chosen[key] for key in Choice.__annotations__})
            given = protocol.setting(choice.sigma, choice.C, choice.eta_scale, protocol.final_tol)
            for tau in self.taus:
                model = Hadamard("", "", tau).model(sample.task, given).fit(sample.X, sample.y)
                score = _score(sample, choice, *_predicted(model, sample, choice.rule))
                variants[f"{tau:g}/{rule}"] = {**score, "rank": _rank(model)}
        return variants


def _rank(model: Any) -> float:
    """Return the rank of F; with more than two classes, the mean over the pairs."""
    models = getattr(model, "estimators_", [model])
    return float(sum(m.adaptation_.rank for m in models) / len(models))


def dank(tau: float) -> Hadamard:
    """Return DANK at one tau."""
    return Hadamard(f"dank-{tau:g}", f"DANK, tau = {tau:g}", tau)


CONTESTANTS: dict[str, Searched] = {
    each.name: each
    for each in (PlainSVM(), dank(0.0), dank(0.01), dank(0.1), Hadamard("knpl", "KNPL"))
}
"""The contestants by name."""


def by_rules(model: Any, fold: Fold, cross_gram: Array) -> Predictions:
    """Predict the fold's new rows by each rule, shape (n_rules, m).

    The model was fitted to the fold's rows with the smooth rule; `cross_gram` is its base
    kernel between the new rows and those. Equal to setting each rule and calling ``predict``, at
    a fraction of the cost.
    """
    if fold.task == "regression":
        return _decisions(model, fold, fold.places(), cross_gram)
    pairs = list(combinations(range(len(model.classes_)), 2))
    values = [
        _decisions(m, fold, fold.places(tuple(m.classes_)), cross_gram)
        for m in getattr(model, "estimators_", [model])
    ]
    return np.asarray(model.classes_[_elected(values, pairs)])


def by_batch(model: Any, X: Array) -> Predictions:
    """Predict some rows, shape (m,), by the paper's rule for a batch."""
    values = batch_decision_function(model, X)
    if not hasattr(model, "classes_"):
        return values
    codes = (values > 0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)
    return np.asarray(model.classes_[codes])


def set_rule(model: Any, rule: str) -> None:
    """Make a fitted model predict by another rule."""
    for each in getattr(model, "estimators_", [model]):
        each.kernel_.set_params(extension=rule)


def _decisions(model: Any, fold: Fold, places: Places, cross_gram: Array) -> Array:
    """Return kernel_(X_new, support_vectors_) @ dual_coef_ + intercept_ by each rule."""
    if not len(model.support_):
        return np.full((len(RULES), len(fold.X_new)), model.intercept_)
    gram = cross_gram[:, model.support_]
    support = np.searchsorted(places.members, model.support_)
    factors = model.adaptation_.columns(places.used)[support].T
    grams = {
        "none": gram,
        "smooth": model.kernel_(fold.X_new, model.support_vectors_),
        "nearest": gram * factors[places.nearest],
        "reciprocal": gram * factors[places.reciprocal],
    }
    return np.stack([grams[rule] @ model.dual_coef_ for rule in RULES]) + model.intercept_


def _elected(values: list[Array], pairs: list[tuple[int, int]]) -> Indices:
    """Return the class with most votes; the sum of decisions breaks a tie.

    `values` holds for each pair of classes decisions of any one shape, positive for the second.
    """
    n_classes = pairs[-1][1] + 1
    votes, sums = np.zeros((2, n_classes, *values[0].shape))
    for (low, high), f in zip(pairs, values, strict=True):
        votes[low] += f <= 0
        votes[high] += f > 0
        sums[low] -= f
        sums[high] += f
    return (votes + sums / (3.0 * (np.abs(sums) + 1.0))).argmax(axis=0)


def cross_validate(contestant: Searched, sample: Sample, protocol: Tuning, repeat: int) -> Array:
    """Return the mean loss per row for each sigma, C, eta_scale and rule, in this order.

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
    contestant: Searched,
    sample: Sample,
    protocol: Tuning,
    repeat: int,
    scale: float,
    tried: npt.NDArray[np.bool_],
) -> Array:
    """Return the mean loss for each sigma, C and rule, inf for those not tried."""
    total = np.zeros((*tried.shape, len(contestant.rules)))
    for train, valid in folds(sample, protocol.folds, repeat):
        fold = Fold(sample.task, sample.X[train], sample.y[train], sample.X[valid])
        for s in np.flatnonzero(tried.any(axis=1)):
            given = protocol.setting(protocol.sigmas[s], 1.0, scale, protocol.tuning_tol)
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


def choices(contestant: Searched, protocol: Tuning, loss: Array) -> dict[str, Choice]:
    """Return what each variant chooses, by its name, such as ``fixed/nearest``.

    Of equal losses the first in the order of preference is taken: the widest kernel, then the
    least C, then the papers' eta, then the plainer rule.
    """
    chosen = {}
    etas = {FIXED: protocol.eta_scales[:1]}
    etas |= {TUNED: protocol.eta_scales} if contestant.has_eta else {}
    for eta, scales in etas.items():
        for rule, rules in _rules(contestant):
            part = loss[:, :, : len(scales), rules]
            s, c, e, r = np.unravel_index(part.argmin(), part.shape)
            chosen[f"{eta}/{rule}"] = Choice(
                protocol.sigmas[s], protocol.Cs[c], scales[e],
                contestant.rules[rules][r], float(part.min()),
            )  # fmt: skip
    return chosen


def _rules(contestant: Searched) -> Iterator[tuple[str, slice]]:
    for k, rule in enumerate(contestant.rules):
        yield rule, slice(k, k + 1)
    if len(contestant.rules) > 1:
        yield CHOSEN, slice(None)
