"""Kernels learned from labels that SCG's paper compares with, as contestants.

Their formulas, in `papers.theory.label_kernels`, are recalled: unverified.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from papers.contestants.learned_kernels import (
    POWERS,
    STRENGTHS,
    Divided,
    GaussianKernel,
    KernelMachine,
    Tried,
    accuracy,
    svc,
)
from papers.sample import Sample
from papers.study import MEASURED, Variants
from papers.theory.label_kernels import (
    FisherKernel,
    IdealLogDet,
    ideal_neumann,
    laplacian,
    simple_npk,
)
from pliant.core.typing import Array, Indices
from pliant.kernels import Gaussian


@dataclass(frozen=True)
class FisherScore(KernelMachine):
    """FSK on a Gaussian kernel of the plain model's width; bumps and C are chosen together."""

    bumps: tuple[int, ...] = (-2, 0, 2)
    """delta runs over gamma 2**p."""
    ridges: tuple[float, ...] = (1e-3, 1e-1)
    """Added to the denominator of the criterion, relative to its size."""
    centres: int = 100
    """Random labelled points, at most."""
    powers: tuple[int, ...] = POWERS
    name: str = "fsk"
    title: str = "FSK"

    def candidates(self, sample: Sample, protocol: Divided, seed: int) -> Tried:
        """Yield widths of the bumps, and ridges."""
        plain = GaussianKernel(self.powers).choose(sample, protocol, seed)
        labelled = sample.X[sample.known]
        for bump in self.bumps:
            for ridge in self.ridges:
                setting = {"gamma": plain["gamma"], "bump": bump, "ridge": ridge}

                def learned(rows: Indices, setting: dict[str, Any] = setting) -> Array:
                    return self._kernel(sample, rows, setting, seed)(labelled)

                yield setting, learned

    def learn(self, sample: Sample, setting: dict[str, Any], seed: int) -> Any:
        return self._kernel(sample, sample.known, setting, seed)

    def _kernel(
        self, sample: Sample, rows: Indices, setting: dict[str, Any], seed: int
    ) -> FisherKernel:
        chosen = np.random.default_rng(seed).permutation(rows)[: self.centres]
        gamma = setting["gamma"]
        return FisherKernel.learned(
            Gaussian(gamma), sample.X[rows], sample.y[rows], sample.X[np.sort(chosen)],
            gamma * 2.0 ** setting["bump"], setting["ridge"],
        )  # fmt: skip


@dataclass(frozen=True)
class IdealGaussian(KernelMachine):
    """IR-Gaussian in the LogDet divergence, which needs the labelled points only."""

    shares: tuple[float, ...] = (0.01, 0.1, 0.3, 0.6, 0.9)
    """gamma over its pole."""
    powers: tuple[int, ...] = POWERS
    name: str = "ir-gaussian"
    title: str = "IR-Gaussian"

    def candidates(self, sample: Sample, protocol: Divided, seed: int) -> Tried:
        """Yield strengths, for the plain model's width."""
        plain = GaussianKernel(self.powers).choose(sample, protocol, seed)
        labelled = sample.X[sample.known]
        for share in self.shares:
            setting = {"gamma": plain["gamma"], "strength": share}

            def learned(rows: Indices, setting: dict[str, Any] = setting) -> Array:
                return self._kernel(sample, rows, setting)(labelled)

            yield setting, learned

    def learn(self, sample: Sample, setting: dict[str, Any], seed: int) -> Any:
        return self._kernel(sample, sample.known, setting)

    def _kernel(self, sample: Sample, rows: Indices, setting: dict[str, Any]) -> IdealLogDet:
        base = Gaussian(setting["gamma"])
        return IdealLogDet.learned(base, sample.X[rows], sample.y[rows], setting["strength"])


class Transductive(KernelMachine):
    """A kernel matrix over labelled and unlabelled points, K = FF', without an extension."""

    @abstractmethod
    def settings(self, sample: Sample, protocol: Divided, seed: int) -> list[dict[str, Any]]:
        """Return what is tried."""

    @abstractmethod
    def prepared(self, sample: Sample) -> Any:
        """Return what no label and no setting changes."""

    @abstractmethod
    def factor(self, given: Any, sample: Sample, rows: Indices, setting: dict[str, Any]) -> Array:
        """Return F, learned from the labels of some rows, (n, rank)."""

    def candidates(self, sample: Sample, protocol: Divided, seed: int) -> Tried:
        """Yield the settings."""
        given = self.prepared(sample)
        for setting in self.settings(sample, protocol, seed):

            def learned(rows: Indices, setting: dict[str, Any] = setting) -> Array:
                F = self.factor(given, sample, rows, setting)[sample.known]
                return np.asarray(F @ F.T)

            yield setting, learned

    def learn(self, sample: Sample, setting: dict[str, Any], seed: int) -> Any:
        """Return F."""
        return self.factor(self.prepared(sample), sample, sample.known, setting)

    def measure(self, sample: Sample, protocol: Divided, repeat: int, needed: Any) -> Variants:
        """Judge the chosen setting on unlabelled points; there is no kernel at later ones."""
        seed = protocol.first_seed + repeat
        setting = self.choose(sample, protocol, seed)
        began = time.process_time()
        F = self.learn(sample, setting, seed)
        seconds = time.process_time() - began
        known, hidden = sample.known, sample.unlabelled
        model = svc(F[known] @ F[known].T, sample.y[known], setting["C"])
        right = accuracy(model, F[hidden] @ F[known].T, sample.y[hidden])
        measured = {"unlabelled": right, "test": None, "kernel_seconds": seconds}
        return {MEASURED: {**setting, **measured}}


@dataclass(frozen=True)
class SimpleNPK(Transductive):
    """SimpleNPK with p = 2; its C and that of the SVM are chosen together."""

    strengths: tuple[float, ...] = STRENGTHS
    n_neighbors: int = 5
    name: str = "simple-npk"
    title: str = "SimpleNPK"

    def settings(self, sample: Sample, protocol: Divided, seed: int) -> list[dict[str, Any]]:
        """Return the values of its C."""
        return [{"strength": strength} for strength in self.strengths]

    def prepared(self, sample: Sample) -> csr_array:
        """Return the Laplacian of all points."""
        return laplacian(sample.X, self.n_neighbors)

    def factor(self, given: Any, sample: Sample, rows: Indices, setting: dict[str, Any]) -> Array:
        return simple_npk(given, sample.partial(rows), setting["strength"])


@dataclass(frozen=True)
class IdealNeumann(Transductive):
    """IR-Gaussian in von Neumann's divergence, of the plain model's width."""

    strengths: tuple[float, ...] = STRENGTHS
    """gamma times the number of labelled points."""
    powers: tuple[int, ...] = POWERS
    name: str = "ir-gaussian"
    title: str = "IR-Gaussian"

    def settings(self, sample: Sample, protocol: Divided, seed: int) -> list[dict[str, Any]]:
        """Return the strengths."""
        plain = GaussianKernel(self.powers).choose(sample, protocol, seed)
        return [{"gamma": plain["gamma"], "strength": strength} for strength in self.strengths]

    def prepared(self, sample: Sample) -> None:
        """Return nothing: the width is a setting."""

    def factor(self, given: Any, sample: Sample, rows: Indices, setting: dict[str, Any]) -> Array:
        gram = Gaussian(setting["gamma"])(sample.X)
        return ideal_neumann(gram, sample.partial(rows), setting["strength"] / len(rows))
