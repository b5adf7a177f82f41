"""Which method when: the rows of `papers/advice.toml`, with numbers from the kept results."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from papers.contestants.embeddings import DIMENSIONS, variant
from papers.data import toml
from papers.page import markdown
from papers.results import Overall, Results, standing
from papers.studies.hadamard import PLAIN
from papers.study import studies

HEAD = ("your situation", "take", "what was measured", "not when", "repeat it")

FIELDS = ("situation", "take", "measured", "unless", "repeat")
"""What to take and when, the numbers, when not to, and which study, benchmark or figure measures
the numbers again."""

DANK, KNPL = "dank-0.01:fixed/smooth", "knpl:fixed/smooth"

LARGEST = "generated, 200000 rows"

Values = dict[str, Any]


class Evidence:
    """The kept numbers: those of the papers' studies in one folder, of benchmarks in another."""

    def __init__(self, folder: Path, benchmarks: Path) -> None:
        self.folder, self.benchmarks = folder, benchmarks

    def study(self, name: str) -> Results:
        """Return the results of a study."""
        return Results(studies()[name], _read(self.folder / f"{name}.json"))

    def overall(self, task: str) -> dict[str, Overall]:
        """Return what the defaults of DANK and KNPL have over the sets of a task."""
        results = self.study("defaults")
        sets, ways = results.sets_of(task), {"dank": DANK, "knpl": KNPL, "plain": PLAIN}
        return {name: next(results.overall([who], sets, PLAIN)) for name, who in ways.items()}

    def figure(self, name: str) -> Values:
        """Return the numbers of a figure."""
        entries = _read(self.folder / "figures" / "numbers.json")["figures"]
        values: Values = entries[name]["measured"]
        return values

    def timed(self, benchmark: str, case: str, contestant: str) -> Values:
        """Return the summary of a contestant in a speed benchmark."""
        cases = {
            each["name"]: each for each in _read(self.benchmarks / f"{benchmark}.json")["cases"]
        }
        summary: list[Values] = cases[case]["summary"]
        return next(each for each in summary if each["contestant"] == contestant)


def _read(path: Path) -> Values:
    document: Values = json.loads(path.read_text("utf-8"))
    return document


def decisions(evidence: Evidence) -> str:
    """Return the tables as Markdown."""
    parts = ["# Which method when"]
    for title, entries in toml("advice").items():
        lines = []
        for entry in entries:
            values = VALUES[entry["name"]](evidence)
            lines.append([" ".join(entry[field].split()).format(**values) for field in FIELDS])
        parts += [f"## {title}", markdown(HEAD, lines)]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def regression(evidence: Evidence) -> Values:
    results = evidence.study("lab-rbf-defaults")
    behind, total = _behind(results, "lab", "tuned-boosting"), len(results.sets)
    means = {"lab": "lab", "boosting": "tuned-boosting", "ridge": "krr"}
    return {
        "total": total,
        **{key: results.overall_mean(who) for key, who in means.items()},
        "ahead": total - len(behind),
        "ahead_of_ridge": total - len(_behind(results, "lab", "krr")),
        "behind": ", ".join(f"{name} by {-gap:.3f}" for name, gap in behind.items()) or "none",
        "times": _times(results, "lab", "boosting"),
    }


def small_regression(evidence: Evidence) -> Values:
    results = evidence.study("lab-rbf-defaults")
    sets = [name for name in results.sets if results.has(name, "gp")]
    each = [f"{n} {results.mean(n, 'gp'):.4f} and {results.mean(n, 'lab'):.4f}" for n in sets]
    rows = max(results.group(name, "gp")["n_train"] for name in sets)
    return {"rows": rows, "each": ", ".join(each)}


def classification(evidence: Evidence) -> Values:
    results = evidence.study("lab-rbf-classification")
    names = {"lab": "lab-classifier", "svc": "svc", "boosting": "boosting-classifier"}
    names["forest"] = "forest-classifier"
    gains = results.compared("lab-classifier", "svc")
    worse = [name for name, gain in gains.items() if gain.verdict < 0]
    return {
        "total": len(gains),
        **{key: 100 * results.overall_mean(who) for key, who in names.items()},
        "ahead": sum(gain.verdict > 0 for gain in gains.values()),
        "behind": len(worse),
        "worse": ", ".join(worse),
        "times": _times(results, "lab-classifier", "forest-classifier"),
    }


def adapted(evidence: Evidence) -> Values:
    total = len(evidence.study("defaults").sets_of("classification"))
    return {"total": total, **evidence.overall("classification")}


def adapted_regression(evidence: Evidence) -> Values:
    results = evidence.study("defaults")
    both = {name: [results.mean(name, w) for w in (PLAIN, DANK)] for name in ("space", "bodyfat")}
    total = len(results.sets_of("regression"))
    return {"total": total, **both, **evidence.overall("regression")}


def labels(evidence: Evidence) -> Values:
    found = {}
    for key, name in (("small", "scg-table-3"), ("large", "scg-table-5")):
        results = evidence.study(name)
        means = results.means(["scg-ldk", "gaussian"], "unlabelled").mean(axis=0)
        found[key] = [*means, len(results.sets)]
    return found


def no_width(evidence: Evidence) -> Values:
    results, terrain = evidence.study("tkl-tables-3-4"), evidence.figure("tkl-figure-3")
    against = {
        peer: standing([gain.verdict for gain in results.compared("tkl", peer).values()])
        for peer in ("svm", "forest", "boosting")
    }
    turned = {
        key: [terrain[f"turned by {angle} degrees"][who]["RMSE"]
              for who in ("Gaussian SVR", "TKL, degree 2")]
        for key, angle in (("upright", 0), ("turned", 30))
    }  # fmt: skip
    return {**against, **turned}


def certificate(evidence: Evidence) -> Values:
    cases = _read(evidence.benchmarks / "tessellated-gaps.json")["cases"]
    reached = sum(case["summary"][0]["result"]["reached"] == "yes" for case in cases)
    results = evidence.study("dank-table-4")
    gaps = [results.numbers(name, "exact", "gap").max() for name in results.sets]
    return {"gap": max(gaps), "reached": reached, "cases": len(cases)}


def relevance(evidence: Evidence) -> Values:
    return {}


def embedding(evidence: Evidence) -> Values:
    results, each, level = evidence.study("scg-embedding"), [], []
    for name in results.sets:
        for place in map(variant, DIMENSIONS):
            own, fisher, pca = (
                results.mean(name, f"{who}:{place}") for who in ("scg-ldk", "kernel-fisher", "pca")
            )
            each.append(f"{name}, {place}: {own:.1f}, {fisher:.1f} and {pca:.1f} %")
            level += [f"{name}, {place}"] if own <= fisher else []
    return {"each": "; ".join(each), "level": " and ".join(level) or "none of these"}


def pairs(evidence: Evidence) -> Values:
    case = "heart_statlog, 270 labels, 36315 pairs"
    scg, ldk = (
        1000 * evidence.timed("log-det", case, who)["seconds"] for who in ("SCG-LDK, labels", "LDK")
    )
    many = evidence.timed("supervised-large", "100000 points, 256 landmarks", "200000 pairs")
    return {"scg": scg, "ldk": ldk, "many": many["seconds"]}


def few_thousand(evidence: Evidence) -> Values:
    names = {"svc": "scikit-learn SVC", "svm": "pliant SVM", "dank": 'DANK, eta="auto"'}
    return {key: evidence.timed("speed", "n = 5000", who)["seconds"] for key, who in names.items()}


def path(evidence: Evidence) -> Values:
    overall: list[Values] = _read(evidence.benchmarks / "paths.json")["overall"]
    return next(each for each in overall if each["contestant"] == "C path, warm")


def many(evidence: Evidence) -> Values:
    contestants = ("libsvm", "DANK, exact", "DANK, decomposed", "DANK, refined")
    seconds, accuracy = (
        [_number(evidence.timed("scale", LARGEST, who), key) for who in contestants]
        for key in ("seconds", "accuracy")
    )
    one_hot = [_number(evidence.timed("scale", "a6a", who), "accuracy") for who in contestants[:2]]
    return {"s": seconds, "a": accuracy, "a6a": one_hot}


def millions(evidence: Evidence) -> Values:
    case = "1000000 rows, 20 features"
    own, boosting = (
        evidence.timed("local-large", case, who) for who in ("pliant", "gradient boosting")
    )
    return {
        "seconds": own["seconds"],
        "megabytes": own["peak_bytes"] / 1e6,
        "R2": own["result"]["test R2"],
        "function": own["result"]["R2 of the function"],
        "boosting": [boosting["seconds"], boosting["result"]["test R2"]],
    }


def _number(summary: Values, key: str) -> float:
    """Return a number of a summary, or of what its call returned."""
    result = summary["result"]
    return float(summary[key] if key in summary else next(v for k, v in result.items() if key in k))


def _behind(results: Results, first: str, peer: str) -> dict[str, float]:
    """Return the sets on which the first is behind by the mean, and by how much."""
    gains = results.compared(first, peer)
    return {name: gain.mean for name, gain in gains.items() if gain.mean <= 0}


def _times(results: Results, first: str, peer: str) -> float:
    """Return how many times as long the first takes, choice included; median over the sets."""

    def seconds(name: str, who: str) -> float:
        parts = (results.numbers(name, who, f"{part}_seconds") for part in ("fit", "tuning"))
        return float(sum(part.mean() for part in parts))

    return float(np.median([seconds(n, first) / seconds(n, peer) for n in results.sets]))


VALUES: dict[str, Callable[[Evidence], Values]] = {
    each.__name__: each
    for each in (
        regression, small_regression, classification, adapted, adapted_regression, labels,
        no_width, certificate, relevance, embedding, pairs, few_thousand, path, many, millions,
    )
}  # fmt: skip
"""What fills in the fields of each row."""
