"""Parts that the tests of runs share: what is solved, what is asked for, and who keeps it."""

from collections.abc import Sequence

import numpy as np

from pliant.methods.svm.parts import PartResult, Store, fingerprint

SIZES = [3, 40, 5, 17, 40, 8]
BACKENDS = ["sequential", "threading", "loky", "multiprocessing"]


def numbers(size):
    return np.random.default_rng(size).normal(size=size)


def solve(rows, factor=2.0):
    return PartResult(factor * rows, float(rows.sum()), 0.5, len(rows), "CONVERGED")


def arguments():
    return [(numbers(size), 2.0) for size in SIZES]


def new_store(folder):
    return Store(folder, fingerprint(np.zeros(2), np.zeros(2), None, {"C": 1.0}))


def same(result, expected):
    return result.beta.tobytes() == expected.beta.tobytes() and result[1:5] == expected[1:5]


class Recorder:
    """A store in memory that has some results already."""

    def __init__(self, known=()):
        self.results = {part: solve(*arguments()[part]) for part in known}
        self.saved = []

    def save(self, stage, part, result):
        self.saved.append(part)
        self.results[part] = result

    def load(self, stage, part, size):
        return self.results.get(part)


class Lazy(Sequence):
    """Arguments that are made when they are asked for, and tell how many are in use."""

    def __init__(self):
        self.asked = []

    def __len__(self):
        return len(SIZES)

    def __getitem__(self, part):
        self.asked.append(part)
        return (numbers(SIZES[part]),)
