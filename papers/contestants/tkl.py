"""TKL beside a Gaussian support vector machine, a random forest and gradient boosting."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR

from benchmarks.splits import holdout
from papers.data import PaperSet, Table, read
from papers.sample import Labels, Sample, folds, losses, to_tune_on
from papers.study import MEASURED, Contestant, Protocol, Record, Variants, unconverged
from pliant import TKLClassifier, TKLRegressor
from pliant.core.typing import Array

Setting: TypeAlias = dict[str, float]
"""The parameters that are chosen, by name."""

SIZES = tuple(range(50, 651, 50))
"""The numbers of trees, or of boosting rounds, that the paper tries."""


@dataclass(frozen=True)
class HoldOut(Protocol):
    """A share of the rows for testing; parameters by cross-validation on the others."""

    test_size: float = 0.2
    folds: int = 2

    def sample(
        self, name: str, chosen: PaperSet, folder: str, repeat: int, contestant: Contestant
    ) -> Sample:
        """Return training and test rows as they are, drawn with the seed `repeat`."""
        return self.split(name, read(chosen, folder), repeat)

    def split(self, name: str, table: Table, repeat: int) -> Sample:
        """Return the rows of one repeat, stratified for classes."""
        X, y, stratify = table.X, table.y, table.task == "classification"
        ((train, test),) = holdout(
            y, test_size=self.test_size, stratify=stratify, random_state=repeat
        )
        return Sample(name, table.task, X[train], y[train], X[test], y[test])

    def judge(self, task: str, y: Labels, predicted: npt.NDArray[Any]) -> float:
        """Return the accuracy, or the mean squared error."""
        return judge(task, y, predicted)


class Tuned(Contestant):
    """A contestant that tries settings by cross-validation, and is fitted with the best."""

    rows: int | None
    """Parameters are chosen on this many training rows at most; None for all."""

    @abstractmethod
    def settings(self) -> list[Setting]:
        """Return what is tried; of equal losses the first one is chosen."""

    @abstractmethod
    def model(self, task: str, setting: Setting, seed: int, *, final: bool = True) -> Any:
        """Return the estimator of the last fit, or of those while choosing."""

    def attempts(self, sample: Sample, X_new: Array, seed: int) -> Iterator[npt.NDArray[Any]]:
        """Learn from the sample with each setting in turn; predict X_new."""
        for setting in self.settings():
            model = self.model(sample.task, setting, seed, final=False)
            yield np.asarray(model.fit(sample.X, sample.y).predict(X_new))

    def details(self, model: Any) -> dict[str, float]:
        """Return numbers of a fitted model that are worth keeping."""
        return {}

    @property
    def kind(self) -> str:
        """The key of its text; two classes have names that other studies use as well."""
        name = type(self).__name__
        return f"tkl-{name}" if name in ("Forest", "Boosting") else name

    @property
    def chosen_on(self) -> str:
        """Say which rows the parameters are chosen on."""
        if self.rows is None:
            return "chosen on all training rows"
        return f"chosen on at most {self.rows} random training rows"

    def measure(self, sample: Sample, protocol: Any, repeat: int, needed: Any) -> Variants:
        """Choose, fit to all training rows, and judge; ``early`` counts what the last fit warns.

        The protocol has ``folds`` and ``judge``, as `HoldOut`.
        """
        start = time.perf_counter()
        setting, loss = choose(self, sample, protocol.folds, repeat)
        seconds = time.perf_counter() - start
        return {MEASURED: self._judged(sample, protocol, repeat, setting, loss, seconds)}

    def _judged(
        self, sample: Sample, protocol: Any, repeat: int, setting: Setting, loss: float, took: float
    ) -> dict[str, Any]:
        """Fit to all training rows with a setting that took some seconds to choose; judge."""
        start = time.perf_counter()
        with unconverged() as early:
            model = self.model(sample.task, setting, repeat).fit(sample.X, sample.y)
            fitted = time.perf_counter()
            train = protocol.judge(sample.task, sample.y, model.predict(sample.X))
            test = protocol.judge(sample.task, sample.y_test, model.predict(sample.X_test))
        measured = {"setting": setting, "loss": loss, "train": train, "test": test}
        seconds = {"tuning_seconds": took, "fit_seconds": fitted - start}
        return {**measured, **seconds, "early": len(early), **self.details(model)}


def choose(contestant: Tuned, sample: Sample, n_folds: int, repeat: int) -> tuple[Setting, float]:
    """Return the setting with the least mean loss in cross-validation, and that loss."""
    sample = to_tune_on(sample, contestant.rows, repeat)
    settings = contestant.settings()
    total: Array = np.zeros(len(settings))
    for train, valid in folds(sample, n_folds, repeat):
        part = replace(sample, X=sample.X[train], y=sample.y[train])
        attempts = contestant.attempts(part, sample.X[valid], repeat)
        total += [losses(sample.task, sample.y[valid], each).sum() for each in attempts]
    best = int(total.argmin())
    return settings[best], float(total[best] / len(sample.y))


def judge(task: str, y: Labels, predicted: npt.NDArray[Any]) -> float:
    """Return the accuracy, or the mean squared error in the units of the target."""
    mean = float(losses(task, y, predicted).mean())
    return 1.0 - mean if task == "classification" else mean


@dataclass(frozen=True)
class TKL(Tuned):
    """TKL of degree 1, C and delta by cross-validation."""

    Cs: tuple[float, ...] = tuple(10.0**p for p in range(6))
    deltas: tuple[float, ...] = (0.1, 0.5, 1.0)
    """The candidates."""
    degree: int = 1
    epsilon: float = 0.1
    """Errors left free, in standard deviations of the training target."""
    tuning_tol: float = 1e-2
    tol: float = 1e-3
    """Relative gaps of the fits while choosing, and of the last one."""
    tuning_max_iter: int = 20
    max_iter: int = 500
    """The largest number of support vector machines solved while choosing, and at last."""
    rows: int | None = 1000
    dtype: str = "float64"
    cache_mb: float = 2000.0
    """The estimator's parameters of the same names."""
    name: str = "tkl"
    title: str = "TKL"

    def settings(self) -> list[Setting]:
        """Return all pairs, the least C first, then the least box."""
        return [{"C": C, "delta": delta} for C in self.Cs for delta in self.deltas]

    def model(self, task: str, setting: Setting, seed: int, *, final: bool = True) -> Any:
        """Return the estimator, which scales features and target itself."""
        options: dict[str, Any] = {**setting, "degree": self.degree, "random_state": seed}
        options["tol"] = self.tol if final else self.tuning_tol
        options["max_iter"] = self.max_iter if final else self.tuning_max_iter
        options |= {"dtype": self.dtype, "cache_mb": self.cache_mb}
        if task == "classification":
            return TKLClassifier(**options)
        return TKLRegressor(**options, epsilon=self.epsilon)

    def details(self, model: Any) -> dict[str, float]:
        """Return the certified relative gap and the rank of P."""
        return {"gap": float(model.dual_gap_ / model.objective_), "rank": float(model.rank_)}


@dataclass(frozen=True)
class RescaledTKL(TKL):
    """TKL with the box that it chose, and C times all training rows over those it chose it on.

    More rows bear a function that is less smooth. The library's searches on part of the rows
    rescale C of TKL in the same way.
    """

    name: str = "tkl-rescaled"
    title: str = "TKL, C rescaled"

    @property
    def needs(self) -> Contestant:  # type: ignore[override]
        """The one that chose."""
        return TKL(**{**asdict(self), "name": "tkl", "title": "TKL"})

    def measure(
        self, sample: Sample, protocol: Any, repeat: int, needed: Record | None
    ) -> Variants:
        """Take over what was chosen, rescale C, fit to all training rows, and judge."""
        assert needed is not None
        chosen = needed["variants"][MEASURED]
        rows = min(len(sample.y), self.rows or len(sample.y))
        setting = {**chosen["setting"], "C": chosen["setting"]["C"] * len(sample.y) / rows}
        return {MEASURED: self._judged(sample, protocol, repeat, setting, chosen["loss"], 0.0)}


@dataclass(frozen=True)
class GaussianSVM(Tuned):
    """SVC or epsilon-SVR on features scaled to [0, 1], C and gamma by cross-validation."""

    Cs: tuple[float, ...] = tuple(10.0**p for p in range(-1, 6))
    gammas: tuple[float, ...] = tuple(4.0**p for p in range(-5, 5))
    """The candidates."""
    epsilon: float = 0.1
    """Errors left free, in standard deviations of the training target."""
    tuning_max_iter: int = 200_000
    max_iter: int = 2_000_000
    """Limits of libsvm's steps while choosing, and at last."""
    rows: int | None = 1000
    name: str = "svm"
    title: str = "Gaussian SVM"

    def settings(self) -> list[Setting]:
        """Return all pairs, the least C first, then the widest kernel."""
        return [{"C": C, "gamma": gamma} for C in self.Cs for gamma in self.gammas]

    def model(self, task: str, setting: Setting, seed: int, *, final: bool = True) -> Any:
        """Return scaling and support vector machine in one."""
        max_iter = self.max_iter if final else self.tuning_max_iter
        options = {**setting, "cache_size": 1000, "max_iter": max_iter}
        if task == "classification":
            return make_pipeline(MinMaxScaler(), SVC(**options))
        model = make_pipeline(MinMaxScaler(), SVR(**options, epsilon=self.epsilon))
        return TransformedTargetRegressor(model, transformer=StandardScaler())


@dataclass(frozen=True)
class Forest(Tuned):
    """A random forest with scikit-learn's defaults, its number of trees by cross-validation."""

    sizes: tuple[int, ...] = SIZES
    rows: int | None = None
    name: str = "forest"
    title: str = "Random forest"

    def settings(self) -> list[Setting]:
        """Return the numbers of trees, the least first."""
        return [{"trees": float(size)} for size in self.sizes]

    def model(self, task: str, setting: Setting, seed: int, *, final: bool = True) -> Any:
        """Return the forest."""
        kind = RandomForestClassifier if task == "classification" else RandomForestRegressor
        return kind(n_estimators=int(setting["trees"]), random_state=seed)

    def attempts(self, sample: Sample, X_new: Array, seed: int) -> Iterator[npt.NDArray[Any]]:
        """Grow the largest forest; predict by its first trees (see `first_trees`)."""
        forest = self.model(sample.task, self.settings()[-1], seed).fit(sample.X, sample.y)
        yield from first_trees(forest, X_new, self.sizes)


def first_trees(forest: Any, X: Array, sizes: tuple[int, ...]) -> Iterator[npt.NDArray[Any]]:
    """Predict by the first trees of a forest, for each number of them.

    A forest of k trees with the same seed is made of these same k trees.
    """
    classes = getattr(forest, "classes_", None)
    total: Any = 0.0
    for k, tree in enumerate(forest.estimators_, start=1):
        total = total + (tree.predict(X) if classes is None else tree.predict_proba(X))
        if k in sizes:
            yield total / k if classes is None else classes[np.argmax(total, axis=1)]


@dataclass(frozen=True)
class Boosting(Tuned):
    """Histogram gradient boosting with scikit-learn's defaults, its rounds by cross-validation."""

    sizes: tuple[int, ...] = SIZES
    rows: int | None = None
    name: str = "boosting"
    title: str = "Gradient boosting"

    def settings(self) -> list[Setting]:
        """Return the numbers of rounds, the least first."""
        return [{"rounds": float(size)} for size in self.sizes]

    def model(self, task: str, setting: Setting, seed: int, *, final: bool = True) -> Any:
        """Return the booster; it stops at its number of rounds and not before."""
        classes = task == "classification"
        kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
        rounds = int(setting["rounds"])
        return kind(max_iter=rounds, early_stopping=False, random_state=seed)

    def attempts(self, sample: Sample, X_new: Array, seed: int) -> Iterator[npt.NDArray[Any]]:
        """Boost the longest; predict at each stage."""
        model = self.model(sample.task, self.settings()[-1], seed).fit(sample.X, sample.y)
        for k, predicted in enumerate(model.staged_predict(X_new), start=1):
            if k in self.sizes:
                yield predicted
