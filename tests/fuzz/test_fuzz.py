"""A few cases of each fuzzer; ``make fuzz N=10000`` runs many more."""

import pytest

from tests.fuzz.campaign import KINDS, outcome

CASES: dict[str, int] = {
    "estimators": 60,
    "checkpoints": 100,
    "journals": 60,
    "tables": 40,
    "model_files": 30,
    "names": 25,
}
"""Cases in the suite; all together take less than a minute on two cores."""


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind in CASES])
def test_a_few_cases(kind):
    wrong = {seed: outcome(kind, seed) for seed in range(CASES[kind])}
    assert {seed: ascii(what) for seed, what in wrong.items() if what is not None} == {}
