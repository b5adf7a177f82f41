"""Learned kernels judged by a support vector machine; the Gaussian kernel as the first of them."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from papers.side_information.contestant import MEASURED, Contestant, Variants
from papers.side_information.machine import (
    CS,
    Fold,
    Learned,
    accuracies,
    best,
    fit,
    right,
)
from papers.side_information.protocol import SideProtocol, SideSample, typical_gamma
from pliant.kernels import Gaussian, Kernel

__all__ = ["POWERS", "GaussianMachine", "KernelMachine", "gaussian_widths"]

POWERS = (-6, -4, -2, 0, 2, 4)
"""gamma runs over 2**p / m, m the median squared distance."""


def gaussian_widths(sample: SideSample, powers: tuple[int, ...]) -> list[dict[str, Any]]:
    """Return the settings of a Gaussian kernel, the widest first."""
    unit = typical_gamma(sample.X)
    return [{"power": p, "gamma": unit * 2.0**p} for p in powers]


class KernelMachine(Contestant):
    """A kernel and C, chosen together by cross-validation; the kernel is learned in every fold."""

    @abstractmethod
    def candidates(
        self, sample: SideSample, folds: list[Fold], protocol: SideProtocol, seed: int
    ) -> Iterator[tuple[dict[str, Any], Learned]]:
        """Yield what is tried, and how its kernel is learned from the labels of some rows."""

    @abstractmethod
    def learn(self, sample: SideSample, setting: dict[str, Any], seed: int) -> Kernel:
        """Learn the kernel from all labels."""

    def choose(self, sample: SideSample, protocol: SideProtocol, seed: int) -> dict[str, Any]:
        """Return the setting of the highest accuracy; of equal ones the first, with the least C."""
        folds = sample.folds(protocol.folds, seed)
        settings, scores = [], []
        for setting, learned in self.candidates(sample, folds, protocol, seed):
            settings += [{**setting, "C": C} for C in CS]
            scores += list(accuracies(sample, folds, learned))
        return best(settings, scores)

    def measure(self, sample: SideSample, protocol: SideProtocol, seed: int) -> Variants:
        """Judge the chosen setting on unlabelled points, and on test points where there are any."""
        setting = self.choose(sample, protocol, seed)
        began = time.process_time()
        kernel = self.learn(sample, setting, seed)
        seconds = time.process_time() - began
        known = sample.X[sample.labelled]
        machine = fit(kernel(known), sample.y[sample.labelled], setting["C"])
        parts = {
            "unlabelled": (sample.X[sample.unlabelled], sample.y[sample.unlabelled]),
            "test": (sample.X_test, sample.y_test),
        }
        found = {
            name: right(machine, kernel(known, X).T, y) if len(y) else None
            for name, (X, y) in parts.items()
        }
        return {MEASURED: {**setting, **found, "kernel_seconds": seconds}}


@dataclass(frozen=True)
class GaussianMachine(KernelMachine):
    """A Gaussian kernel; nothing is learned.

    Attributes
    ----------
    powers : tuple of int
        See `POWERS`.
    """

    powers: tuple[int, ...] = POWERS
    name: str = "gaussian"
    title: str = "Gaussian"

    def candidates(
        self, sample: SideSample, folds: list[Fold], protocol: SideProtocol, seed: int
    ) -> Iterator[tuple[dict[str, Any], Learned]]:
        """Yield the widths."""
        for setting in gaussian_widths(sample, self.powers):
            gram = Gaussian(setting["gamma"])(sample.X[sample.labelled])
            yield setting, lambda rows, gram=gram: gram

    def learn(self, sample: SideSample, setting: dict[str, Any], seed: int) -> Kernel:
        """Return the Gaussian kernel."""
        return Gaussian(setting["gamma"])

    def words(self) -> str:
        """Say what is chosen."""
        return f"scikit-learn's SVC with a Gaussian kernel of {len(self.powers)} widths"
