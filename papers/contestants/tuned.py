"""Contestants with a grid of settings and cross-validation."""

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


class Tuned(Contestant):
    """A contestant that selects a setting of its grid by cross-validation."""

    rows: int | None = None
    """Maximum number of random training rows for tuning; None for all."""
    fit_rows: int | None = None
    """Maximum number of random training rows of the final fit; None for all."""
    folds: int | None = None
    """Number of folds; None for the protocol's."""

    def settings(self) -> list[Setting]:
        """Return the settings to try, the last parameter varying fastest; ties go to the first."""
        return [dict(zip(self.grid, each, strict=True)) for each in product(*self.grid.values())]

    def model(
        self, sample: Sample, setting: Setting, seed: int, *, final: bool = True
    ) -> BaseEstimator:
        """Return the estimator of the final fit, or of the tuning fits."""
        raise NotImplementedError

    def attempts(self, sample: Sample, X_new: Array, seed: int) -> Iterator[npt.NDArray[Any]]:
        """Fit the sample with each setting; yield the predictions of X_new."""
        for setting in self.settings():
            model = self.model(sample, setting, seed, final=False)
            yield np.asarray(model.fit(sample.X, sample.y).predict(X_new))

    def details(self, model: Any) -> Record:
        """Return numbers of a fitted model to store."""
        return {}

    def pairs(self, sample: Sample, protocol: Protocol, seed: int) -> list[tuple[Indices, Indices]]:
        """Return the training and validation rows for tuning."""
        return list(folds(sample, self.folds or protocol.folds, seed))

    def choose(self, sample: Sample, protocol: Protocol, seed: int) -> Setting:
        """Return the setting with the smallest error, or the fewest errors, over all pairs."""
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
        """Tune, fit and score; seconds are process seconds, ``early`` warnings of the fit."""
        seed = protocol.first_seed + repeat
        began = time.process_time()
        setting = self.choose(sample, protocol, seed)
        return {MEASURED: self._judged(sample, protocol, seed, setting, began)}

    def _judged(
        self, sample: Sample, protocol: Protocol, seed: int, setting: Setting, began: float
    ) -> Record:
        """Fit with a setting tuned since `began`, and score on the test rows."""
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
    """A method with stored results that is no longer measured."""

    kept = True


class Plain(Tuned):
    """An estimator named by `make`, with parameters `options`."""

    make: str
    options: ClassVar[Setting] = {}

    def model(
        self, sample: Sample, setting: Setting, seed: int, *, final: bool = True
    ) -> BaseEstimator:
        from papers.contestants import regressors

        return getattr(regressors, self.make)(**{**self.options, **setting}, random_state=seed)


def predicted_labels(decisions: Array, classes: Labels) -> Labels:
    """Return labels from decision values, shape (m,) or (m, n_classes)."""
    codes = (decisions > 0).astype(np.intp) if decisions.ndim == 1 else decisions.argmax(axis=1)
    return classes[codes]
