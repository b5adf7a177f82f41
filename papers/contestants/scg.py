"""Kernels learned from labels or distances, each scored by one support vector machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import TypeAlias

import numpy as np
from sklearn.svm import SVC

from papers.contestants.tuned import Setting
from papers.sample import Protocol, Sample, typical_gamma
from papers.study import MEASURED, Contestant, Needed, Variants
from pliant import LogDetLearner, OrderSpectralLearner, SCGLogDetLearner
from pliant.core.typing import Array, Indices
from pliant.kernels import Gaussian

CS = (0.1, 1.0, 10.0, 100.0, 1000.0)

MOST_STEPS = 200_000
"""Maximum number of libsvm's steps in one solve."""

Between: TypeAlias = Callable[[Indices, Indices], Array]
"""A kernel between points of a sample by index: training points, then later ones."""


def _over(sample: Sample, kernel: Callable[[Array, Array], Array]) -> Between:
    points = np.concatenate([sample.X, sample.X_test])
    return lambda rows, columns: kernel(points[rows], points[columns])


class KernelMachine(Contestant):
    """A kernel and C, tuned together by cross-validation; every fold learns the kernel."""

    powers: Sequence[int] = ()
    """Exponents p of gamma = 2**p / m, where m is the median squared distance."""
    width: str = "joint"
    """"joint" to tune gamma with the other parameters, "plain" to use the plain model's gamma, or
    "none"."""

    def learn(self, sample: Sample, setting: Setting, rows: Indices, seed: int) -> Between:
        """Learn the kernel from the labels of some rows."""
        raise NotImplementedError

    def settings(self, sample: Sample, protocol: Protocol, seed: int) -> Iterator[Setting]:
        """Yield the settings to try, the widest kernel first."""
        widths: list[Setting] = [{}]
        if self.width == "joint":
            unit = typical_gamma(sample.X, most=1000)
            widths = [{"gamma": unit * 2.0**p} for p in self.powers]
        elif self.width == "plain":
            plain = GaussianKernel("gaussian", powers=self.powers)
            widths = [{"gamma": plain.choose(sample, protocol, seed)["gamma"]}]
        for width in widths:
            for each in product(*self.grid.values()):
                yield {**width, **dict(zip(self.grid, each, strict=True))}

    def choose(self, sample: Sample, protocol: Protocol, seed: int) -> Setting:
        """Return the setting with the highest accuracy; ties go to the smallest C."""
        folds, tried, scores = sample.labelled_folds(protocol.folds, seed), [], []
        for setting in self.settings(sample, protocol, seed):
            tried += [{**setting, "C": C} for C in CS]
            scores.append(sum(self._right(sample, setting, *fold, seed) for fold in folds))
        return tried[int(np.argmax(np.concatenate(scores)))]

    def _right(
        self, sample: Sample, setting: Setting, known: Indices, judged: Indices, seed: int
    ) -> Array:
        """Return the number of correctly predicted held-out labels for each C."""
        kernel = self.learn(sample, setting, known, seed)
        inner, cross = kernel(known, known), kernel(judged, known)
        models = [svc(inner, sample.y[known], C) for C in CS]
        return np.array([np.sum(m.predict(cross) == sample.y[judged]) for m in models])

    def measure(self, sample: Sample, protocol: Protocol, repeat: int, needed: Needed) -> Variants:
        """Score the best setting on unlabelled points, and on later points if they exist."""
        seed = protocol.first_seed + repeat
        setting = self.choose(sample, protocol, seed)
        began = time.process_time()
        kernel, every = self.learn(sample, setting, sample.known, seed), np.arange(len(sample.y))
        kernel(every, every)  # the paper's times include the matrix of all points
        seconds = time.process_time() - began
        known = sample.known
        model = svc(kernel(known, known), sample.y[known], setting["C"])
        y = np.concatenate([sample.y, sample.y_test])
        later = np.arange(len(sample.y), len(y))
        measured = {
            name: float(np.mean(model.predict(kernel(rows, known)) == y[rows]))
            for name, rows in {"unlabelled": sample.unlabelled, "test": later}.items()
            if len(rows)
        }
        return {MEASURED: {**setting, **measured, "kernel_seconds": seconds}}


def svc(gram: Array, y: Indices, C: float) -> SVC:
    return SVC(C=C, kernel="precomputed", cache_size=500, max_iter=MOST_STEPS).fit(gram, y)


class GaussianKernel(KernelMachine):
    """A fixed Gaussian kernel."""

    def learn(self, sample: Sample, setting: Setting, rows: Indices, seed: int) -> Between:
        return _over(sample, Gaussian(setting["gamma"]))


class SCGLogDet(KernelMachine):
    """SCG-LDK on a Gaussian kernel."""

    graph: str
    """Points of the graph; "complete" in the paper."""

    def learn(self, sample: Sample, setting: Setting, rows: Indices, seed: int) -> Between:
        options = {"scale_strength": False, "graph": self.graph}
        learner = SCGLogDetLearner(**setting_of(setting), **options, unlabeled=-1)
        return _over(sample, learner.fit(sample.X, sample.partial(rows)).kernel_)


class LogDet(KernelMachine):
    """LDK on a Gaussian kernel."""

    max_pairs: int
    """Maximum number of random pairs of labelled points."""

    def learn(self, sample: Sample, setting: Setting, rows: Indices, seed: int) -> Between:
        options = {"max_pairs": self.max_pairs, "unlabeled": -1, "random_state": seed}
        learner = LogDetLearner(**setting_of(setting), **options)
        return _over(sample, learner.fit(sample.X, sample.partial(rows)).kernel_)


class OrderSpectral(KernelMachine):
    """OSK or SCG-OSK."""

    loss: str
    """Either "alignment" or "scg"."""
    drop_null: bool
    """True to drop the constant eigenvectors; the paper keeps them."""
    n_neighbors: int = 5

    def learn(self, sample: Sample, setting: Setting, rows: Indices, seed: int) -> Between:
        options = {"n_neighbors": self.n_neighbors, "drop_null": self.drop_null, "unlabeled": -1}
        learner = OrderSpectralLearner(self.loss, **options)
        return _over(sample, learner.fit(sample.X, sample.partial(rows)).kernel_)


def setting_of(setting: Setting) -> Setting:
    """Return the parameters of a learner, without the machine's C."""
    return {key: value for key, value in setting.items() if key != "C"}
