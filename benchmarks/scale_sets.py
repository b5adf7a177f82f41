"""Two-class problems for benchmarks of margin classifiers beyond the dense Gram matrix."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
from sklearn.preprocessing import MinMaxScaler

from benchmarks.datasets import load_local
from benchmarks.harness.spec import Params
from benchmarks.splits import random_halves
from pliant.core.typing import Array

GENERATED = "generated"

FEATURES, HIDDEN, WAVES = 12, 3, 24
FLIPPED, NOISE = 0.005, 0.02

N_TEST = 20_000


class Halves(NamedTuple):
    """Points and labels -1.0 or +1.0 for training and testing."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array


@dataclass(frozen=True)
class ScaleSet:
    """A data set with the parameters of its models."""

    file: str
    """Its name in the data folder, or `GENERATED`."""
    C: float
    gamma: float
    """Parameter of the Gaussian kernel exp(-gamma |x - x'|^2)."""
    eta: float
    """|alpha|^2 of libsvm's model on the first split, to two digits: it is fixed, so a fit is
    one solve. For the generated set it is six times the number of rows."""
    clipped: bool = False
    """True if features are clipped at their .1 and 99.9 percentiles in the training rows."""
    scaled: bool = False
    """True if features are scaled to [0, 1] by the training rows."""


_ADULT_ETAS = (2.9e5, 4.6e5, 5.9e5, 9.1e5, 1.2e6, 2.0e6)

SETS: dict[str, ScaleSet] = {
    "EEG": ScaleSet("eeg_eye_state", 32.0, 100.0, 3500.0, clipped=True, scaled=True),
    "EEG unclipped": ScaleSet("eeg_eye_state", 32.0, 100.0, 3.2e6, scaled=True),
    "ijcnn1_val": ScaleSet("ijcnn1_val", 32.0, 2.0, 3.5e4),
    "ijcnn1_train_12of22": ScaleSet("ijcnn1_train_12of22", 32.0, 2.0, 1.1e6),
    **{
        f"a{k}a": ScaleSet(f"adult_a{k}a", 32.0, 2.0**-8, eta)
        for k, eta in enumerate(_ADULT_ETAS, start=1)
    },
    GENERATED: ScaleSet(GENERATED, 10.0, 2.0, 6.0),
}
"""The sets by their names in tables."""


def prepared(params: Params) -> Halves:
    """Return the training and the test rows.

    ``set`` and ``seed`` select them; ``rows`` is the size of a generated set; ``most``
    is an optional maximum number of training rows, of which the first ones are used.
    """
    chosen = SETS[params["set"]]
    if chosen.file == GENERATED:
        train = generated(params["rows"], 2 * params["seed"])
        split = Halves(*train, *generated(N_TEST, 2 * params["seed"] + 1))
    else:
        split = halves(chosen, params["seed"])
    most = params.get("most")
    return split._replace(X=split.X[:most], y=split.y[:most])


def halves(chosen: ScaleSet, seed: int, folder: str | None = None) -> Halves:
    """Return random halves of a set of the data folder, stratified by class."""
    data = load_local(chosen.file, folder)
    y = data.y.astype(np.float64)
    train, test = next(islice(random_halves(y, seed + 1, stratify=True), seed, None))
    X, X_test = data.X[train], data.X[test]
    if chosen.clipped:
        low, high = np.percentile(X, [0.1, 99.9], axis=0)
        X, X_test = np.clip(X, low, high), np.clip(X_test, low, high)
    if chosen.scaled:
        scaler = MinMaxScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    return Halves(X, y[train], X_test, y[test])


def generated(rows: int, seed: int) -> tuple[Array, Array]:
    """Return points near a curved manifold, and the sign of a sum of waves on it.

    The manifold is the image of a three-dimensional cube in twelve dimensions, by sums of sines,
    with normal noise of standard deviation .02 in each. The label is the sign of a sum of 24
    cosines of the position in the cube; one in 200 is flipped. The manifold and the waves are
    fixed, and the seed draws the points. A linear classifier has an accuracy of .75; with C = 10
    and gamma = 2, a tenth of 50 000 points become support vectors.
    """
    fixed, drawn = np.random.default_rng(0), np.random.default_rng([seed, 1])
    sines = fixed.standard_normal((HIDDEN, 2 * FEATURES))
    sine_phases = fixed.uniform(0, 2 * np.pi, 2 * FEATURES)
    mixing = fixed.standard_normal((2 * FEATURES, FEATURES)) / np.sqrt(2 * FEATURES)
    waves = 0.6 * np.pi * fixed.standard_normal((HIDDEN, WAVES))
    wave_phases, weights = fixed.uniform(0, 2 * np.pi, WAVES), fixed.standard_normal(WAVES)
    place = drawn.uniform(-1, 1, (rows, HIDDEN))
    X = np.sin(place @ sines + sine_phases) @ mixing
    X += NOISE * drawn.standard_normal((rows, FEATURES))
    label = np.where(np.cos(place @ waves + wave_phases) @ weights > 0, 1.0, -1.0)
    label[drawn.random(rows) < FLIPPED] *= -1.0
    return X, label
