"""Which method when: the rows of `papers/advice.toml`, with numbers from the kept results."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from papers.contestants.embeddings import DIMENSIONS, variant
from papers.data import toml
from papers.overview.markdown import rows
from papers.results import Overall, Results, Way, standings
from papers.studies import STUDIES
from papers.studies.hadamard import PLAIN, signs

HEAD = ("your situation", "take", "what was measured", "not when", "repeat it")

FIELDS = ("situation", "take", "measured", "unless", "repeat")
"""What to take and when, the numbers, when not to, and which study, benchmark or figure measures
the numbers again."""

DANK = Way("dank-0.01", "fixed/smooth")
KNPL = Way("knpl", "fixed/smooth")

LARGEST = "generated, 200000 rows"

Values = dict[str, Any]


class Evidence:
    """The kept numbers: those of the papers' studies in one folder, of benchmarks in another."""

    def __init__(self, folder: Path, benchmarks: Path) -> None:
        self.folder, self.benchmarks = folder, benchmarks

    def study(self, name: str) -> Results:
        """Return the results of a study."""
        return Results(_read(self.folder / f"{name}.json"), STUDIES[name].percent)

    def overall(self, task: str) -> dict[str, Overall]:
        """Return what the defaults of DANK and KNPL have over the sets of a task."""
        results = self.study("defaults")
        ways = {"dank": DANK, "knpl": KNPL, "plain": PLAIN}
        sets = results.sets_of(task)
        return {
            name: next(iter(results.overall([who], sets, PLAIN, signs(results))))
            for name, who in ways.items()
        }

    def figure(self, name: str) -> Values:
        """Return the numbers of a figure."""
        values: Values = _read(self.folder / "figures" / "numbers.json")["figures"][name][
            "measured"
        ]
        return values

    def benchmark(self, name: str) -> Values:
        """Return the document of a speed benchmark."""
        return _read(self.benchmarks / f"{name}.json")

    def timed(self, benchmark: str, case: str, contestant: str) -> Values:
        """Return the summary of a contestant in a speed benchmark."""
        cases = {each["name"]: each for each in self.benchmark(benchmark)["cases"]}
        summary: list[Values] = cases[case]["summary"]
        return next(each for each in summary if each["contestant"] == contestant)


def _read(path: Path) -> Values:
    document: Values = json.loads(path.read_text("utf-8"))
    return document


def decisions(evidence: Evidence) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Return the headings, and the rows below them: Markdown texts by the `FIELDS`."""
    for title, entries in toml("advice").items():
        listed = []
        for entry in entries:
            values = VALUES[entry["name"]](evidence)
            texts = {field: " ".join(entry[field].split()) for field in FIELDS}
            listed.append({field: text.format(**values) for field, text in texts.items()})
        yield title, listed


def decisions_page(evidence: Evidence) -> str:
    """Return the tables as Markdown."""
    parts = ["# Which method when\n"]
    for title, listed in decisions(evidence):
        parts += [f"## {title}\n", rows(HEAD, [[*row.values()] for row in listed])]
    return "\n".join(parts)


def regression(evidence: Evidence) -> Values:
    results = evidence.study("lab-rbf-defaults")
    behind = _behind(results, "lab", "tuned-boosting")
    total = len(results.sets)
    return {
        "total": total,
        "lab": results.overall_mean("lab"),
        "boosting": results.overall_mean("tuned-boosting"),
        "ridge": results.overall_mean("krr"),
        "ahead": total - len(behind),
        "ahead_of_ridge": total - len(_behind(results, "lab", "krr")),
        "behind": ", ".join(f"{name} by {-gap:.3f}" for name, gap in behind.items()) or "none",
        "times": _times(results, "lab", "boosting"),
    }


def small_regression(evidence: Evidence) -> Values:
    results = evidence.study("lab-rbf-defaults")
    sets = [name for name in results.sets if results.has(name, "gp")]
    each = [
        f"{name} {results.mean(name, 'gp'):.4f} and {results.mean(name, 'lab'):.4f}"
        for name in sets
    ]
    n_train = max(results.group(name, "gp")["n_train"] for name in sets)
    return {"rows": n_train, "each": ", ".join(each)}


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
    space, bodyfat = (
        [results.mean(name, who) for who in (PLAIN, DANK)] for name in ("space", "bodyfat")
    )
    total = len(results.sets_of("regression"))
    return {"total": total, "space": space, "bodyfat": bodyfat, **evidence.overall("regression")}


def labels(evidence: Evidence) -> Values:
    means_of = {}
    for key, name in (("small", "scg-table-3"), ("large", "scg-table-5")):
        results = evidence.study(name)
        means = results.means(["scg-ldk", "gaussian"], "unlabelled").mean(axis=0)
        means_of[key] = [*means, len(results.sets)]
    return means_of


def no_width(evidence: Evidence) -> Values:
    results, terrain = evidence.study("tkl-tables-3-4"), evidence.figure("tkl-figure-3")
    against = {
        peer: standings(list(results.compared("tkl", peer, signs=signs(results)).values()))["rule"]
        for peer in ("svm", "forest", "boosting")
    }
    upright, turned = (
        [
            terrain[f"turned by {angle} degrees"][who]["RMSE"]
            for who in ("Gaussian SVR", "TKL, degree 2")
        ]
        for angle in (0, 30)
    )
    return {**against, "upright": upright, "turned": turned}


def certificate(evidence: Evidence) -> Values:
    cases = evidence.benchmark("tessellated-gaps")["cases"]
    reached = [case["summary"][0]["result"]["reached"] == "yes" for case in cases]
    results = evidence.study("dank-table-4")
    gaps = [results.numbers(name, "exact", "gap").max() for name in results.sets]
    return {"gap": max(gaps), "reached": sum(reached), "cases": len(reached)}


def relevance(evidence: Evidence) -> Values:
    return {}


def embedding(evidence: Evidence) -> Values:
    results, each, level = evidence.study("scg-embedding"), [], []
    for name in results.sets:
        for d in DIMENSIONS:
            own, fisher, pca = (
                results.mean(name, Way(who, variant(d)))
                for who in ("scg-ldk", "kernel-fisher", "pca")
            )
            each.append(f"{name}, {variant(d)}: {own:.1f}, {fisher:.1f} and {pca:.1f} %")
            level += [f"{name}, {variant(d)}"] if own <= fisher else []
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
    overall = evidence.benchmark("paths")["overall"]
    case: Values = next(each for each in overall if each["contestant"] == "C path, warm")
    return case


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
