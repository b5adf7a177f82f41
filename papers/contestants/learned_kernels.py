"""Kernels learned from labels or distances, each judged by one support vector machine."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
import scipy.linalg
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.splits import holdout
from papers.data import PaperSet, Table, read
from papers.sample import Sample, draw, typical_gamma
from papers.study import MEASURED, Contestant, Protocol, Variants
from pliant import (
    LogDetLearner,
    OrderSpectralLearner,
    SCGLogDetLearner,
    SCGLogDetPath,
    SideInformation,
)
from pliant.core.typing import Array, Indices
from pliant.kernels import Gaussian, Kernel
from pliant.methods.side_information import order_spectral

CS = (0.1, 1.0, 10.0, 100.0, 1000.0)
"""The paper's values of C."""

MOST_STEPS = 200_000
"""The limit of libsvm's steps in one solve."""

POWERS = (-6, -4, -2, 0, 2, 4)
"""gamma runs over 2**p / m, m the median squared distance."""

STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)
"""The paper's values of its gamma."""

Fold: TypeAlias = tuple[Indices, Indices]
Learned: TypeAlias = Callable[[Indices], Array]
"""Learns a kernel from the labels of some rows; returns the Gram matrix of the labelled rows."""

Tried: TypeAlias = Iterator[tuple[dict[str, Any], Learned]]
"""Settings, each with how its kernel is learned."""


@dataclass(frozen=True)
class Divided(Protocol):
    """How points are divided into labelled, unlabelled and test points."""

    unlabelled: float
    """The share of the points that are learned from without their labels; sets with a number of
    labels leave all others unlabelled."""
    test: float
    """The share of the points that is not seen before a kernel is learned."""
    folds: int = 5
    """Of the cross-validation that chooses parameters, over the labelled points."""
    first_seed: int = 100
    """The seed of repeat 0; repeat r is drawn with the seed ``first_seed + r``."""

    def sample(
        self, name: str, chosen: PaperSet, folder: str, repeat: int, contestant: Contestant
    ) -> Sample:
        """Return the points of one repeat."""
        return self.divide(name, chosen, read(chosen, folder), repeat)

    def divide(self, name: str, chosen: PaperSet, table: Table, repeat: int) -> Sample:
        """Return the points of one repeat; every part has all classes in proportion."""
        seed = self.first_seed + repeat
        table = draw(table, chosen.per_class, seed)
        y = np.unique(table.y, return_inverse=True)[1].reshape(-1)
        n = len(y)
        kept, test = _hold_out(y, np.arange(n), round(self.test * n), seed)
        hidden = round(self.unlabelled * n)
        if chosen.labels is not None:
            hidden = len(kept) - chosen.labels
        known, _ = _hold_out(y, kept, hidden, seed + 1_000_000)
        X, X_test = table.X[kept], table.X[test]
        if chosen.unit is not None:
            X, X_test = X / chosen.unit, X_test / chosen.unit
        else:
            scaler = StandardScaler().fit(X)
            X, X_test = scaler.transform(X), scaler.transform(X_test) if len(test) else X_test
        rows = np.searchsorted(kept, known)
        return Sample(name, "classification", X, y[kept], X_test, y[test], rows)


def _hold_out(y: Indices, rows: Indices, count: int, seed: int) -> tuple[Indices, Indices]:
    if count == 0:
        return rows, rows[:0]
    ((kept, held),) = holdout(y[rows], test_size=count, stratify=True, random_state=seed)
    return rows[kept], rows[held]


def svc(gram: Array, y: Indices, C: float) -> SVC:
    """Fit scikit-learn's SVC, one against one."""
    return SVC(C=C, kernel="precomputed", cache_size=500, max_iter=MOST_STEPS).fit(gram, y)


def accuracy(model: SVC, cross: Array, y: Indices) -> float:
    """Return the share of correct predictions; the rows of `cross` are the points to predict."""
    return float(np.mean(model.predict(cross) == y))


def accuracies(
    sample: Sample, folds: Iterable[Fold], learn: Learned, Cs: Sequence[float] = CS
) -> Array:
    """Return the accuracy at each C by cross-validation; each fold learns its own kernel."""
    score, count = np.zeros(len(Cs)), 0
    for known, judged in folds:
        gram = learn(known)
        rows, held = (np.searchsorted(sample.known, part) for part in (known, judged))
        inner, cross = gram[np.ix_(rows, rows)], gram[np.ix_(held, rows)]
        for k, C in enumerate(Cs):
            model = svc(inner, sample.y[known], C)
            score[k] += len(judged) * accuracy(model, cross, sample.y[judged])
        count += len(judged)
    return score / count


def best(settings: Sequence[dict[str, Any]], scores: Sequence[float]) -> dict[str, Any]:
    """Return the setting of the highest accuracy, and that; of equal ones the first."""
    k = int(np.argmax(np.round(scores, 12)))
    return {**settings[k], "validation": float(scores[k])}


def gaussian_widths(sample: Sample, powers: tuple[int, ...]) -> list[dict[str, Any]]:
    """Return the settings of a Gaussian kernel, the widest first."""
    unit = typical_gamma(sample.X)
    return [{"power": p, "gamma": unit * 2.0**p} for p in powers]


class KernelMachine(Contestant):
    """A kernel and C, chosen together by cross-validation; the kernel is learned in every fold."""

    @abstractmethod
    def candidates(self, sample: Sample, protocol: Divided, seed: int) -> Tried:
        """Yield what is tried, and how its kernel is learned from the labels of some rows."""

    @abstractmethod
    def learn(self, sample: Sample, setting: dict[str, Any], seed: int) -> Kernel:
        """Learn the kernel from all labels."""

    def choose(self, sample: Sample, protocol: Divided, seed: int) -> dict[str, Any]:
        """Return the setting of the highest accuracy; of equal ones the first, with the least C."""
        folds = sample.labelled_folds(protocol.folds, seed)
        settings, scores = [], []
        for setting, learned in self.candidates(sample, protocol, seed):
            settings += [{**setting, "C": C} for C in CS]
            scores += list(accuracies(sample, folds, learned))
        return best(settings, scores)

    def measure(self, sample: Sample, protocol: Divided, repeat: int, needed: Any) -> Variants:
        """Judge the chosen setting on unlabelled points, and on test points where there are any."""
        seed = protocol.first_seed + repeat
        setting = self.choose(sample, protocol, seed)
        began = time.process_time()
        kernel = self.learn(sample, setting, seed)
        seconds = time.process_time() - began
        known = sample.X[sample.known]
        model = svc(kernel(known), sample.y[sample.known], setting["C"])
        parts = {
            "unlabelled": (sample.X[sample.unlabelled], sample.y[sample.unlabelled]),
            "test": (sample.X_test, sample.y_test),
        }
        measured = {
            name: accuracy(model, kernel(known, X).T, y) if len(y) else None
            for name, (X, y) in parts.items()
        }
        return {MEASURED: {**setting, **measured, "kernel_seconds": seconds}}


@dataclass(frozen=True)
class GaussianKernel(KernelMachine):
    """A Gaussian kernel; nothing is learned. See `POWERS`."""

    powers: tuple[int, ...] = POWERS
    name: str = "gaussian"
    title: str = "Gaussian"

    def candidates(self, sample: Sample, protocol: Divided, seed: int) -> Tried:
        """Yield the widths."""
        for setting in gaussian_widths(sample, self.powers):
            gram = Gaussian(setting["gamma"])(sample.X[sample.known])
            yield setting, lambda rows, gram=gram: gram

    def learn(self, sample: Sample, setting: dict[str, Any], seed: int) -> Kernel:
        return Gaussian(setting["gamma"])


@dataclass(frozen=True)
class SCGLogDet(KernelMachine):
    """SCG-LDK on a Gaussian kernel; strength and C are chosen together, and the width as well."""

    solver: ClassVar[str] = "auto"
    graph: str = "complete"
    """Over which points; the paper's is "complete"."""
    joint: bool = True
    """Whether the width is chosen together with the strength, or is that of the plain model."""
    powers: tuple[int, ...] = POWERS
    strengths: tuple[float, ...] = STRENGTHS
    """The paper's gamma, not divided by the number of points."""
    name: str = "scg-ldk"
    title: str = "SCG-LDK"

    @property
    def kind(self) -> str:
        return f"SCGLogDet, {self.graph}, {self.joint}"

    def candidates(self, sample: Sample, protocol: Divided, seed: int) -> Tried:
        """Yield widths and strengths."""
        widths = gaussian_widths(sample, self.powers)
        if not self.joint:
            plain = GaussianKernel(self.powers).choose(sample, protocol, seed)
            widths = [{key: plain[key] for key in ("power", "gamma")}]
        for setting in widths:
            learned_with = self.learned(sample, Gaussian(setting["gamma"]))
            for strength in self.strengths:
                yield {**setting, "strength": strength}, learned_with(strength)

    def learned(self, sample: Sample, kernel: Kernel) -> Callable[[float], Learned]:
        """Return how the kernel is learned with a strength; one eigendecomposition for all.

        With a graph over the labelled points the others do not count.
        """
        complete = self.graph == "complete"
        points = sample.X if complete else sample.X[sample.known]
        rows_shown = sample.known if complete else slice(None)
        path = SCGLogDetPath(kernel(points))

        def learned(strength: float, rows: Indices) -> Array:
            partial = sample.partial(rows)
            known = SideInformation.from_labels(
                partial if complete else partial[sample.known], unlabeled=-1
            )
            gram = path.gram(known, strength, graph=self.graph, scale_strength=False)
            return gram[rows_shown][:, rows_shown]

        return lambda strength: lambda rows: learned(strength, rows)

    def learn(self, sample: Sample, setting: dict[str, Any], seed: int) -> Kernel:
        learner = SCGLogDetLearner(
            gamma=setting["gamma"],
            strength=setting["strength"],
            scale_strength=False,
            graph=self.graph,
            solver=self.solver,
            unlabeled=-1,
        )
        return learner.fit(sample.X, sample.partial(sample.known)).kernel_


@dataclass(frozen=True)
class LargeSCGLogDet(SCGLogDet):
    """The same over the complete graph of many points: one Cholesky factorisation a strength."""

    solver: ClassVar[str] = "cholesky"
    joint: bool = False

    def learned(self, sample: Sample, kernel: Kernel) -> Callable[[float], Learned]:
        """Return how the kernel is learned with a strength, on the labelled rows alone."""
        gram = kernel(sample.X)

        def learned_with(strength: float) -> Learned:
            block = LabelledBlock.of(gram, sample.known, strength)
            return lambda rows: block.gram(sample.partial(rows)[sample.known])

        return learned_with


@dataclass(frozen=True, eq=False)
class LabelledBlock:
    """SCG-LDK over the complete graph of many points, evaluated at the labelled ones.

    With R = (I + gamma K0)^{-1} and M = K0 R = (I - R) / gamma, and the group indicators Z (the
    classes, and the points without a label),

        K = M + gamma M Z G Z'M,   G = (I - gamma C Z'M Z)^{-1} C,   S = I - Z C Z'.

    On the labelled rows that takes R on these rows and R 1: one Cholesky factorisation a gamma,
    which all folds share, whatever labels they hide.
    """

    gamma: float
    count: int
    """The number n of all points."""
    among: Array
    """Shape (l, l). M between the labelled rows."""
    sums: Array
    """Shape (l,). M 1 at the labelled rows."""
    total: float
    """1'M 1."""

    @classmethod
    def of(cls, gram: Array, labelled: Indices, gamma: float) -> LabelledBlock:
        """Factorise I + gamma K0, and solve for the labelled columns."""
        n, most = len(gram), len(labelled)
        right = np.zeros((n, most + 1), order="F")
        right[labelled, np.arange(most)] = 1.0
        right[:, most] = 1.0
        matrix = gamma * gram
        matrix[np.diag_indices(n)] += 1.0
        factor = scipy.linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        solved = scipy.linalg.cho_solve(factor, right, overwrite_b=True, check_finite=False)
        inverse = solved[labelled, :most]
        among = (np.eye(most) - 0.5 * (inverse + inverse.T)) / gamma
        sums = (1.0 - solved[labelled, most]) / gamma
        return cls(gamma, n, among, sums, float(n - solved[:, most].sum()) / gamma)

    def gram(self, classes: Indices, beta: float = 1.0) -> Array:
        """Return K between the labelled rows, whose classes are given, -1 where they are hidden."""
        kinds = np.unique(classes[classes >= 0])
        known = (classes[:, None] == kinds).astype(np.float64)
        at_known = self.among @ known
        towards = np.column_stack([at_known, self.sums - at_known.sum(axis=1)])
        coupling = _coupling(known.sum(axis=0), self.count, beta)
        inner = np.eye(len(coupling)) - self.gamma * coupling @ self._between(known, at_known)
        G = np.linalg.solve(inner, coupling)
        return self.among + self.gamma * towards @ (0.5 * (G + G.T)) @ towards.T

    def _between(self, known: Array, at_known: Array) -> Array:
        """Return Z'M Z; the last group is that of the points without a label."""
        classes = known.T @ at_known
        rest = known.T @ self.sums - classes.sum(axis=1)
        corner = self.total - 2.0 * rest.sum() - classes.sum()
        return np.block([[classes, rest[:, None]], [rest[None, :], corner]])


def _coupling(sizes: Array, count: int, beta: float) -> Array:
    """Return C_gh = W_gh / sqrt(D_g D_h); the last group is unlabelled."""
    q = len(sizes) + 1
    target = np.zeros((q, q))
    target[:-1, :-1] = 2.0 * np.eye(q - 1) - 1.0
    weights = np.exp(beta * target)
    degrees = weights @ np.append(sizes, count - sizes.sum())
    return weights / np.sqrt(np.outer(degrees, degrees))


@dataclass(frozen=True)
class LogDet(KernelMachine):
    """LDK on a Gaussian kernel of the plain model's width; slack and C are chosen together."""

    slacks: tuple[float, ...] = (0.01, 0.1, 1.0, 10.0)
    """Penalties of breaking a bound."""
    max_pairs: int = 5000
    """Drawn at random from those of the labelled points."""
    powers: tuple[int, ...] = POWERS
    name: str = "ldk"
    title: str = "LDK"

    def candidates(self, sample: Sample, protocol: Divided, seed: int) -> Tried:
        """Yield the slacks."""
        plain = GaussianKernel(self.powers).choose(sample, protocol, seed)
        labelled = sample.X[sample.known]
        for slack in self.slacks:
            setting = {"power": plain["power"], "gamma": plain["gamma"], "slack": slack}

            def learned(rows: Indices, setting: dict[str, Any] = setting) -> Array:
                return self._kernel(sample, rows, setting, seed)(labelled)

            yield setting, learned

    def learn(self, sample: Sample, setting: dict[str, Any], seed: int) -> Kernel:
        return self._kernel(sample, sample.known, setting, seed)

    def _kernel(self, sample: Sample, rows: Indices, setting: dict[str, Any], seed: int) -> Kernel:
        learner = LogDetLearner(
            gamma=setting["gamma"],
            slack=setting["slack"],
            max_pairs=self.max_pairs,
            unlabeled=-1,
            random_state=seed,
        )
        return learner.fit(sample.X, sample.partial(rows)).kernel_


@dataclass(frozen=True)
class OrderSpectral(KernelMachine):
    """OSK or SCG-OSK; the eigenvectors depend on no label, and all folds share them."""

    loss: str = "alignment"
    """Either "alignment" or "scg"."""
    drop_null: bool = False
    """Whether the constant eigenvectors are left out; the paper keeps them."""
    n_neighbors: int = 5
    name: str = "osk"
    title: str = "OSK"

    @property
    def kind(self) -> str:
        return f"OrderSpectral, {self.drop_null}"

    def candidates(self, sample: Sample, protocol: Divided, seed: int) -> Tried:
        """Yield the only kernel that is tried."""
        vectors = self._learner(sample).eigenvectors_
        labelled = vectors[sample.known]

        def learned(rows: Indices) -> Array:
            weights = self._weights(vectors, sample.partial(rows))
            return np.asarray(len(vectors) * (labelled * weights) @ labelled.T)

        yield {}, learned

    def _weights(self, vectors: Array, partial: Indices) -> Array:
        """Return the weights of the eigenvectors, as the learner chooses them."""
        known = SideInformation.from_labels(partial, unlabeled=-1)
        cone = order_spectral.OrderCone(vectors.shape[1])
        if self.loss == "alignment":
            return order_spectral.SpectralAlignment.of(vectors, known).best(cone)
        return order_spectral.best_vertex(
            order_spectral.graph_losses(vectors, known.graph("complete")), cone
        )

    def learn(self, sample: Sample, setting: dict[str, Any], seed: int) -> Kernel:
        return self._learner(sample).kernel_

    def _learner(self, sample: Sample) -> OrderSpectralLearner:
        learner = OrderSpectralLearner(
            self.loss, n_neighbors=self.n_neighbors, drop_null=self.drop_null, unlabeled=-1
        )
        return learner.fit(sample.X, sample.partial(sample.known))
