"""What LAB-RBF costs with rows, support points and features: one evaluation, and a fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from benchmarks.harness.spec import Benchmark, Case, Contestant
from benchmarks.local_gradient import given, library_objective
from benchmarks.local_sets import generated, r_squared
from pliant import LABRBFRegressor

Params = Mapping[str, Any]
Prepared = tuple[Callable[[], Any], Callable[[Any], dict[str, Any]]]


@dataclass(frozen=True)
class Size:
    """A problem's rows, support points and features."""

    rows: int
    support: int
    features: int

    def __str__(self) -> str:
        return f"{self.rows} rows, {self.support} support points, {self.features} features"


BASE = Size(rows=4000, support=100, features=20)

SWEEPS = {
    "rows": (250, 1000, 4000, 16000, 64000),
    "support": (25, 50, 100, 200, 400),
    "features": (5, 10, 20, 40, 80),
}
"""One grows, the others stay at `BASE`."""


def evaluation(params: Params) -> Prepared:
    """Prepare evaluations of the ridge objective's value and gradient."""
    problem = given(params)
    objective = library_objective(problem, params)

    def call() -> None:
        for _ in range(params["evaluations"]):
            objective.at(problem.log_squares, 0.0)

    return call, lambda _: {}


def fit(params: Params) -> Prepared:
    """Prepare a fit of one member with this many support points, without transforms."""
    training, test = (
        generated(rows, params["features"], seed) for seed, rows in ((0, params["rows"]), (1, 5000))
    )
    model = LABRBFRegressor(params["support"], n_members=1, transforms=None, random_state=0)

    def describe(fitted: LABRBFRegressor) -> dict[str, Any]:
        return {"steps": fitted.n_iter_, "test R2": r_squared(fitted, test)}

    return lambda: model.fit(*training), describe


def sizes() -> Iterator[Size]:
    """Return the sizes of all sweeps; the base, which is in each, once."""
    grown = (replace(BASE, **{name: n}) for name, steps in SWEEPS.items() for n in steps)
    return iter(dict.fromkeys(grown))


def _cases(has_data: bool) -> list[Case]:
    del has_data
    return [_case(size) for size in sizes()]


def _case(size: Size) -> Case:
    params = {**asdict(size), "objective": "ridge", "device": "cpu"}
    many = {"evaluations": EVALUATIONS}
    contestants = [
        Contestant("10 evaluations, float32", _EVALUATION, {**many, "dtype": "float32"}),
        Contestant("10 evaluations, float64", _EVALUATION, {**many, "dtype": "float64"}),
        Contestant("fit", f"{__name__}:fit"),
    ]
    return Case(str(size), contestants, params, warm_up={**params, "rows": 250, "support": 25})


EVALUATIONS = 10
_EVALUATION = f"{__name__}:evaluation"

BENCHMARK = Benchmark(
    name="local-costs",
    title="What LAB-RBF costs",
    notes=(
        "Generated problems; rows, support points and features grow one at a time. An evaluation "
        "is the value and the gradient of the ridge objective; a fit is that of one member without "
        "transforms, all else by default: bandwidths are learned on 3000 rows at most, and its "
        "time includes the choice of the shrinkage and the coefficients on all rows. R2 on 5000 "
        "fresh rows."
    ),
    cases=_cases,
    clock="processor",
)
