"""Contestants with a grid of settings and cross-validation, which most of them are."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import product
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.metrics import log_loss

from papers.sample import Labels, Protocol, Sample, folds, losses, to_tune_on
from papers.study import MEASURED, Contestant, Needed, Record, Variants, unconverged
from pliant.core.typing import Array, Indices

Setting: TypeAlias = dict[str, Any]
"""The parameters that are chosen, by name."""


class Tuned(Contestant):
    """Tries the settings of its grid by cross-validation, and is fitted with the best one."""

    rows: int | None = None
    """Settings are tried on this many random training rows at most; None for all."""
    fit_rows: int | None = None
    """The last fit is to this many random training rows at most; None for all."""
    folds: int | None = None
    """Of its cross-validation; None for those of the protocol."""

    def settings(self) -> list[Setting]:
        """Return what is tried, the last parameter varying first; of equal ones the first wins."""
        return [dict(zip(self.grid, each, strict=True)) for each in product(*self.grid.values())]

    def model(
        self, sample: Sample, setting: Setting, seed: int, *, final: bool = True
    ) -> BaseEstimator:
        """Return the estimator of the last fit, or of those while choosing."""
        raise NotImplementedError

    def attempts(self, sample: Sample, X_new: Array, seed: int) -> Iterator[npt.NDArray[Any]]:
        """Learn from the sample with each setting in turn; predict X_new."""
        for setting in self.settings():
            model = self.model(sample, setting, seed, final=False)
            yield np.asarray(model.fit(sample.X, sample.y).predict(X_new))

    def details(self, model: Any) -> Record:
        """Return numbers of a fitted model that are worth keeping."""
        return {}

    def pairs(self, sample: Sample, protocol: Protocol, seed: int) -> list[tuple[Indices, Indices]]:
        """Return the rows to learn from and to judge by, while choosing."""
        return list(folds(sample, self.folds or protocol.folds, seed))

    def choose(self, sample: Sample, protocol: Protocol, seed: int) -> Setting:
        """Return the setting of the least error, or the fewest errors, over all pairs."""
        settings = self.settings()
        if len(settings) == 1:
            return settings[0]
        sample = to_tune_on(sample, self.rows, seed)
        total = np.zeros(len(settings))
        for learn, judge in self.pairs(sample, protocol, seed):
            attempts = self.attempts(sample.some(learn), sample.X[judge], seed)
            total += [losses(sample.task, sample.y[judge], each).sum() for each in attempts]
        return settings[int(total.argmin())]

    def measure(self, sample: Sample, protocol: Protocol, repeat: int, needed: Needed) -> Variants:
        """Choose, fit, and judge; seconds are process seconds, ``early`` warnings of the fit."""
        seed = protocol.first_seed + repeat
        began = time.process_time()
        setting = self.choose(sample, protocol, seed)
        return {MEASURED: self._judged(sample, protocol, seed, setting, began)}

    def _judged(
        self, sample: Sample, protocol: Protocol, seed: int, setting: Setting, began: float
    ) -> Record:
        """Fit with a setting that was chosen since `began`, and judge by the test rows."""
        kept = sample
        if self.fit_rows is not None and len(sample.y) > self.fit_rows:
            rows = np.random.default_rng(seed).permutation(len(sample.y))[: self.fit_rows]
            kept = sample.some(np.sort(rows))
        chosen = time.process_time()
        with unconverged() as early:
            model = self.model(kept, setting, seed).fit(kept.X, kept.y)
            fitted = time.process_time()
            train = protocol.judge(sample.task, sample.y, model.predict(sample.X))
            predicted = model.predict(sample.X_test)
        measured = {"test": protocol.judge(sample.task, sample.y_test, predicted), "train": train}
        if sample.task == "classification" and hasattr(model, "predict_proba"):
            shares = model.predict_proba(sample.X_test)
            measured["log_loss"] = float(log_loss(sample.y_test, shares, labels=model.classes_))
        seconds = {"tuning_seconds": chosen - began, "fit_seconds": fitted - chosen}
        return {
            "setting": setting, **measured, **seconds, "early": len(early), **self.details(model)
        }  # fmt: skip


class Kept(Contestant):
    """A method whose results are kept, and that is measured no more."""

    kept = True


class Plain(Tuned):
    """An estimator as it comes: `make` names it, `options` are its parameters."""

    make: str
    options: ClassVar[Setting] = {}

    def model(
        self, sample: Sample, setting: Setting, seed: int, *, final: bool = True
    ) -> BaseEstimator:
        """Return the estimator."""
        from papers.contestants import regressors

        return getattr(regressors, self.make)(**{**self.options, **setting}, random_state=seed)


def predicted_labels(decisions: Array, classes: Labels) -> Labels:
    """Return labels from decision values, shape (m,) or (m, n_classes)."""
    codes = (decisions > 0).astype(np.intp) if decisions.ndim == 1 else decisions.argmax(axis=1)
    return classes[codes]
