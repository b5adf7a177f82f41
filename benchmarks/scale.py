"""DANK beyond the dense Gram matrix, compared with libsvm: accuracy, time, memory and gap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.svm import SVC

from benchmarks.harness.calls import fit_quietly, fitting, whole_process
from benchmarks.harness.measuring import Settings, measure_case
from benchmarks.harness.spec import Case, Contestant, Params, Prepared
from benchmarks.scale_sets import GENERATED, SETS, Halves, prepared
from pliant import DANKClassifier
from pliant.methods import PartitionedKernel

SPLITS = 3
"""Random halves of a set of the data folder; the generated set is drawn once."""

SIZES = (50_000, 200_000)

GROWN_SIZES = (5000, 10_000, 20_000, 50_000, 100_000, 200_000)

MEMORY_FROM = 20_000
"""Minimum number of rows for memory: smaller fits add little more than their libraries."""

FEW_PARTS = 5
"""Number of parts of EEG, as in the paper, and of the adult sets, which have few rows."""

EXACT_GOAL, DECOMPOSED_GOAL = 2.0, 0.2
"""Goals for time ratios to libsvm: on EEG, and for at least 50 000 rows."""

LIMIT = 1800
"""Maximum seconds of a fit: libsvm is terminated, DANK keeps its best solution."""

LIBSVM, EXACT, DECOMPOSED, REFINED = "libsvm", "DANK, exact", "DANK, decomposed", "DANK, refined"


def libsvm(params: Params) -> Prepared:
    """Prepare scikit-learn's SVC."""
    chosen = SETS[params["set"]]
    return _prepare(SVC(C=chosen.C, gamma=chosen.gamma, **params["options"]), params)


def dank(params: Params) -> Prepared:
    """Prepare DANK with tau = 0 and a fixed eta, unless the options change them."""
    chosen = SETS[params["set"]]
    eta = chosen.eta * (params["rows"] if chosen.file == GENERATED else 1.0)
    given = {"eta": eta, "tau": 0.0, "max_seconds": LIMIT, **params["options"]}
    return _prepare(DANKClassifier(C=chosen.C, gamma=chosen.gamma, **given), params)


def _prepare(model: Any, params: Params) -> Prepared:
    data = prepared(params)

    def describe(fitted: Any) -> dict[str, Any]:
        memory = whole_process("MB")  # before the predictions below
        return {
            "rows": len(data.y),
            **_accuracies(fitted, data, params),
            "support (%)": 100.0 * len(fitted.support_) / len(data.y),
            **_proof(fitted),
            **memory,
        }

    return fitting(model, data.X, data.y, describe=describe)


def _accuracies(fitted: Any, data: Halves, params: Params) -> dict[str, Any]:
    """Return the mean accuracy over the splits; only the first is timed."""
    percents = [_percent(fitted, data)]
    for seed in range(params["seed"] + 1, params["seed"] + params["splits"]):
        other = prepared({**params, "seed": seed})
        percents.append(_percent(fit_quietly(clone(fitted), other.X, other.y), other))
    spread = f"{np.std(percents, ddof=1):.2f}" if len(percents) > 1 else None
    return {"accuracy (%)": float(np.mean(percents)), "±": spread}


def _percent(fitted: Any, data: Halves) -> float:
    return 100.0 * float(fitted.score(data.X_test, data.y_test))


def _proof(fitted: Any) -> dict[str, Any]:
    if isinstance(fitted, SVC):
        return {}
    numbers = {"relative gap": f"{fitted.dual_gap_ / (1.0 + fitted.objective_):.1e}"}
    if isinstance(fitted.kernel_, PartitionedKernel):
        numbers["parts"] = len(fitted.kernel_.centres)
    return numbers


def contestants(n_parts: int | str, goals: Mapping[str, float]) -> list[Contestant]:
    """Return libsvm and three variants of DANK; `goals` are time ratios to libsvm, by name."""
    ways: dict[str, dict[str, Any]] = {
        EXACT: {},
        DECOMPOSED: {"partition": {"n_parts": n_parts}},
        REFINED: {"partition": {"n_parts": n_parts, "refine": True}},
    }
    return [
        Contestant(LIBSVM, libsvm, {"options": {"cache_size": 200}}),
        *(
            Contestant(name, dank, {"options": options}, LIBSVM, goals.get(name))
            for name, options in ways.items()
        ),
    ]


def cases(has_data: bool) -> list[Case]:
    """Return the sets of the data folder, and the generated one at two sizes."""
    names = [name for name in SETS if name != GENERATED] if has_data else []
    return [
        *map(_of_file, names),
        *(_generated(rows, {DECOMPOSED: DECOMPOSED_GOAL}) for rows in SIZES),
    ]


def _of_file(name: str) -> Case:
    n_parts = "auto" if name.startswith("ijcnn1") else FEW_PARTS
    goals = {EXACT: EXACT_GOAL} if name.startswith("EEG") else {}
    params = {"set": name, "splits": SPLITS, "seed": 0}
    return Case(name, contestants(n_parts, goals), params, warm_up={"most": 300})


def _generated(rows: int, goals: Mapping[str, float], alone: Contestant | None = None) -> Case:
    competing = contestants("auto", goals) if alone is None else [alone]
    params = {"set": GENERATED, "rows": rows, "splits": 1, "seed": 0}
    return Case(f"{GENERATED}, {rows} rows", competing, params, warm_up={"most": 300})


def fits(params: Params) -> Prepared:
    """Prepare fits of one contestant to increasing numbers of rows, each in a separate process."""
    (chosen,) = (c for c in contestants("auto", {}) if c.name == params["machine"])
    alone = Contestant(chosen.name, chosen.function, chosen.params)
    settings = Settings(repeats=1, timeout=LIMIT)

    def call() -> list[dict[str, Any]]:
        return [measure_case(_generated(n, {}, alone), settings)[0] for n in params["sizes"]]

    return call, lambda outcomes: grown(params["sizes"], outcomes)


def grown(sizes: Sequence[int], outcomes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the exponents of time and memory, and both for each size with a successful fit."""
    done = [(n, each) for n, each in zip(sizes, outcomes, strict=True) if "error" not in each]
    large = [(n, each) for n, each in done if n >= MEMORY_FROM and each["peak_bytes"]]
    return {
        "exponent of time": _slope([(n, each["processor_seconds"]) for n, each in done]),
        "exponent of memory": _slope([(n, each["peak_bytes"]) for n, each in large]),
        **{f"{n} rows (s)": each["processor_seconds"] for n, each in done},
        **{f"{n} rows (MB)": (each["peak_bytes"] or 0) / 1e6 for n, each in done},
        **{f"{n} rows (%)": each["result"]["accuracy (%)"] for n, each in done},
    }


def _slope(points: Sequence[tuple[int, float]]) -> float | None:
    return float(np.polyfit(*np.log(np.transpose(points)), 1)[0]) if len(points) > 1 else None


def growth(has_data: bool) -> list[Case]:
    """Return one case: the generated set, fitted by each contestant at all sizes."""
    growing = [
        Contestant(each.name, fits, {"machine": each.name}) for each in contestants("auto", {})
    ]
    return [Case(GENERATED, growing, {"sizes": GROWN_SIZES}, warm_up={"sizes": ()})]
