"""xRFM, kernel ridge regression with a learned metric, where the package `xrfm` is installed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.preprocessing import StandardScaler

from papers.contestants.fitted import Fitted, Setting
from papers.sample import Labels, Sample
from pliant.core.typing import Array, Indices

SHARE = 5
"""One row in five is held out: xRFM stops its iterations early by these."""

KERNELS = (("l2", False), ("l2", True), ("l1", True))
"""Kernel, and whether only a diagonal metric is learned."""

EXPONENTS = (0.8, 1.0, 1.2)
BANDWIDTHS = (2.5, 5.0, 20.0, 40.0)
REGS = (1e-6, 1e-5, 1e-4, 1e-2, 1e-1, 1.0)


class RecursiveModel:
    """xRFM on standardised features and target, in single precision on the processor.

    The setting has kernel, diag, bandwidth, exponent and reg; it is empty for the package's
    defaults. The seed draws the rows that are held out. `iters` is the number of iterations on all
    rows; None holds rows out and keeps the best iteration.
    """

    def __init__(self, setting: Setting, seed: int, iters: int | None = None) -> None:
        self.setting = setting
        self.seed = seed
        self.iters = iters

    def fit(self, X: Array, y: Labels) -> RecursiveModel:
        """Learn from the rows; ``error_`` is that of the held-out rows, ``iter_`` the best."""
        learn, judge = held_out(len(y), self.seed)
        self.features_ = StandardScaler().fit(X)
        self.target_ = StandardScaler().fit(y[:, None])
        kept = learn if self.iters is None else np.arange(len(y))
        self.model_ = self._model()
        self.model_.fit(*self._pair(X[kept], y[kept]), *self._pair(X[judge], y[judge]))
        self.error_ = float(np.mean((self.predict(X[judge]) - y[judge]) ** 2))
        self.iter_ = int(self.model_.trees[0]["model"].best_iter or 0)
        return self

    def predict(self, X: Array) -> Array:
        """Return the target in its own units."""
        predicted = np.asarray(self.model_.predict(self._tensor(self.features_.transform(X))))
        return np.asarray(self.target_.inverse_transform(predicted.reshape(-1, 1)).ravel(), float)

    def _model(self) -> Any:
        from xrfm import xRFM

        return xRFM(
            rfm_params=_parameters(self.setting, self.iters) if self.setting else None,
            device="cpu",
            tuning_metric="mse",
            random_state=self.seed,
            verbose=False,
        )

    def _pair(self, X: Array, y: Labels) -> tuple[Any, Any]:
        target = self.target_.transform(y[:, None])
        return self._tensor(self.features_.transform(X)), self._tensor(target)

    def _tensor(self, values: Array) -> Any:
        import torch

        return torch.tensor(values, dtype=torch.float32)


def held_out(n_rows: int, seed: int) -> tuple[Indices, Indices]:
    """Return the rows to learn from and the rows held out."""
    order = np.random.default_rng(seed).permutation(n_rows)
    return order[n_rows // SHARE :], order[: n_rows // SHARE]


def _parameters(setting: Setting, iters: int | None) -> dict[str, Any]:
    model = {key: setting[key] for key in ("kernel", "bandwidth", "exponent", "diag")}
    fixed = iters is not None
    fit = {
        "reg": setting["reg"],
        "iters": iters if fixed else 5,
        "early_stop_rfm": not fixed,
        "return_best_params": not fixed,
        "verbose": False,
    }
    return {"model": {**model, "bandwidth_mode": "constant"}, "fit": fit}


@dataclass(frozen=True)
class Recursive(Fitted):
    """XRFM with its defaults, fitted to four fifths of the training rows as its README does."""

    name: str = "xrfm"
    title: str = "xRFM"
    package: ClassVar[str | None] = "xrfm"

    def model(self, sample: Sample, setting: Setting, seed: int) -> Any:
        """Return the model."""
        return RecursiveModel(setting, seed)


@dataclass(frozen=True)
class TunedRecursive(Recursive):
    """XRFM with a kernel, width and ridge chosen by held-out rows, then fitted to all rows."""

    name: str = "tuned-xrfm"
    title: str = "Tuned xRFM"

    def choose(self, sample: Sample, seed: int) -> Setting:
        """Search kernel and exponent together, then the width, the ridge, the width again."""
        start = {"bandwidth": 10.0, "reg": 1e-3}
        best = self._best(
            [
                {"kernel": kernel, "diag": diag, "exponent": exponent, **start}
                for kernel, diag in KERNELS
                for exponent in EXPONENTS
            ],
            sample,
            seed,
        )
        best = self._best([best, *({**best, "bandwidth": b} for b in BANDWIDTHS)], sample, seed)
        best = self._best([best, *({**best, "reg": reg} for reg in REGS)], sample, seed)
        around = [best["bandwidth"] * factor for factor in (0.5, 2.0)]
        return self._best([best, *({**best, "bandwidth": b} for b in around)], sample, seed)

    def _best(self, settings: list[Setting], sample: Sample, seed: int) -> Setting:
        """Return the setting of the least held-out error, with its error and iteration."""
        candidates = []
        for setting in settings:
            model = RecursiveModel(setting, seed).fit(sample.X, sample.y)
            candidates.append({**setting, "error": model.error_, "iters": model.iter_})
        return min(candidates, key=lambda each: each["error"])

    def model(self, sample: Sample, setting: Setting, seed: int) -> Any:
        """Return the model, which makes the chosen number of iterations on all rows."""
        return RecursiveModel(setting, seed, setting["iters"])
