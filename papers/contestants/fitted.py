"""What the contestants of LAB-RBF's studies share, and how their rows are split and scaled."""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import KFold

from benchmarks.splits import holdout
from papers.data import PaperSet, Table, read
from papers.sample import Sample, rescaled
from papers.study import MEASURED, Contestant, Protocol, Variants
from pliant.core.typing import Indices

Setting: TypeAlias = dict[str, Any]
"""What was chosen, by name."""


@dataclass(frozen=True)
class HeldOut(Protocol):
    """A share of the rows for testing."""

    test_size: float = 0.2
    first_seed: int = 100
    """The seed of repeat 0; repeat r is drawn with the seed ``first_seed + r``. No default of
    LAB-RBF was chosen by the seeds from 100 on."""
    most_rows: tuple[tuple[str, int], ...] = (("california_housing", 6000),)
    """Sets of which only some random training rows of a split are used, and how many."""

    def sample(
        self, name: str, chosen: PaperSet, folder: str, repeat: int, contestant: Contestant
    ) -> Sample:
        """Return the rows of one repeat, in the units that the contestant asks for."""
        assert isinstance(contestant, Fitted)
        return self.split(name, read(chosen, folder), repeat, scaled=contestant.scaled)

    def split(self, name: str, table: Table, repeat: int, *, scaled: bool = True) -> Sample:
        """Return the rows, stratified for classes; features and target scaled to [-1, 1]."""
        classes, seed = table.task == "classification", self.first_seed + repeat
        ((train, test),) = holdout(
            table.y, test_size=self.test_size, stratify=classes, random_state=seed
        )
        most = dict(self.most_rows).get(name)
        if most is not None:  # the rows come in the order of the table, which may mean something
            train = np.sort(np.random.default_rng(seed).permutation(train)[:most])
        X, y, X_test, y_test = table.X[train], table.y[train], table.X[test], table.y[test]
        if scaled:
            X, X_test = rescaled(X, X_test, -1.0, 1.0)
        if scaled and not classes:
            y, y_test = (p.ravel() for p in rescaled(y[:, None], y_test[:, None], -1.0, 1.0))
        return Sample(name, table.task, X, y, X_test, y_test)


class Fitted(Contestant):
    """A contestant that chooses parameters itself and is fitted once."""

    most_rows: int | None = None
    """It is fitted to this many random training rows at most; None for all."""
    scaled: ClassVar[bool] = True
    """Whether it gets features and target scaled to [-1, 1], or in their own units."""

    @abstractmethod
    def model(self, sample: Sample, setting: Setting, seed: int) -> Any:
        """Return the estimator to be fitted to the sample."""

    def choose(self, sample: Sample, seed: int) -> Setting:
        """Return the parameters that the training rows choose; none, if nothing is tuned."""
        return {}

    def fit(self, sample: Sample, setting: Setting, seed: int) -> Any:
        """Return the model, fitted to the training rows or to `most_rows` of them."""
        X, y = sample.X, sample.y
        if self.most_rows is not None and len(y) > self.most_rows:
            kept = np.random.default_rng(seed).permutation(len(y))[: self.most_rows]
            X, y = X[kept], y[kept]
        return self.model(sample, setting, seed).fit(X, y)

    def details(self, model: Any) -> dict[str, float]:
        """Return numbers of a fitted model that are worth keeping."""
        return {}

    def measure(self, sample: Sample, protocol: HeldOut, repeat: int, needed: Any) -> Variants:
        """Choose, fit, and judge by the test rows; seconds are process seconds."""
        seed = protocol.first_seed + repeat
        began = time.process_time()
        setting = self.choose(sample, seed)
        chosen = time.process_time()
        model = self.fit(sample, setting, seed)
        fitted = time.process_time()
        seconds = {"tuning_seconds": chosen - began, "fit_seconds": fitted - chosen}
        measured = {"setting": setting, **scores(sample, model), **seconds}
        return {MEASURED: {**measured, **self.details(model)}}


def parts(
    n_rows: int, seed: int, *, folds: int, most: tuple[int, int], small: int = 2000
) -> list[tuple[Indices, Indices]]:
    """Return the rows that parameters are chosen on, as pairs (training, validation).

    Up to `small` rows these are the folds of cross-validation; beyond, one random hold-out of a
    fifth of the rows. Either side has at most the number of rows in `most`.
    """
    if n_rows <= small:
        pairs = list(KFold(folds, shuffle=True, random_state=seed).split(np.arange(n_rows)))
    else:
        order = np.random.default_rng(seed).permutation(n_rows)
        pairs = [(order[n_rows // 5 :], order[: n_rows // 5])]
    return [(learn[: most[0]], judge[: most[1]]) for learn, judge in pairs]


def scores(sample: Sample, model: Any) -> dict[str, float | None]:
    """Return ``test``: R2 or the accuracy; and for classes ``log_loss``, None without one."""
    predicted = model.predict(sample.X_test)
    if sample.task == "regression":
        return {"test": float(r2_score(sample.y_test, predicted))}
    accuracy = float(np.mean(predicted == sample.y_test))
    if not hasattr(model, "predict_proba"):
        return {"test": accuracy, "log_loss": None}
    probabilities = model.predict_proba(sample.X_test)
    loss = float(log_loss(sample.y_test, probabilities, labels=model.classes_))
    return {"test": accuracy, "log_loss": loss}
