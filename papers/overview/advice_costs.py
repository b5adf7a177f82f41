"""Advice for who has many rows, or little time."""

from __future__ import annotations

from papers.overview.advice import Decision, named
from papers.overview.evidence import Evidence

__all__ = ["COSTS"]

LARGEST = "generated, 200000 rows"


def _few_thousand(evidence: Evidence) -> Decision:
    case = "n = 5000"
    svc, svm, dank = (
        evidence.timed("speed", case, who)["seconds"]
        for who in ("scikit-learn SVC", "pliant SVM", 'DANK, eta="auto"')
    )
    return Decision(
        "A few thousand rows, seconds matter",
        "scikit-learn's `SVC`, or DANK with `tau=0`",
        f"The dual of 5000 rows, one thread: SVC {svc:.2f} s, the plain SVM of pliant {svm:.2f} s, "
        f"DANK with eta chosen {dank:.2f} s.",
        "`tau` above 0 takes several such duals and eigenvectors; the choice of C and gamma costs "
        "more than any of it.",
        named("benchmark", "speed"),
    )


def _path(evidence: Evidence) -> Decision:
    overall = evidence.benchmark("paths")["overall"]
    speed_up = next(each for each in overall if each["contestant"] == "C path, warm")
    return Decision(
        "Many C on the same rows",
        "`C_path`: each fit starts from its neighbour's solution",
        f"{speed_up['median_ratio']:.1f} times as fast as fits from zero, median of "
        f"{speed_up['cases']} cases.",
        "`GridSearchCV` over pipelines: it fits each C anew.",
        named("benchmark", "paths"),
    )


def _many(evidence: Evidence) -> Decision:
    seconds, accuracy = (
        {
            who: _number(evidence.timed("scale", LARGEST, who), key)
            for who in ("libsvm", "DANK, exact", "DANK, decomposed", "DANK, refined")
        }
        for key in ("seconds", "accuracy")
    )
    libsvm, exact, parts, refined = seconds.values()
    svm, whole, parted, _ = accuracy.values()
    one_hot = [
        _number(evidence.timed("scale", "a6a", who), "accuracy")
        for who in ("libsvm", "DANK, exact")
    ]
    return Decision(
        "Classification, 20 000 to some hundred thousand rows",
        'DANK in parts (`partition="kmeans"`); the exact problem where its memory is there',
        f"200 000 rows, one thread: libsvm {libsvm:.0f} s, {svm:.2f} %; DANK exact {exact:.0f} s, "
        f"{whole:.2f} %; in parts {parts:.1f} s, {parted:.2f} %; refined from parts {refined:.0f} "
        "s.",
        f"Noisy one-hot features with the default rule: a6a has {one_hot[1]:.1f} % where libsvm "
        f'has {one_hot[0]:.1f} %; take `extension="none"`, or the SVM.',
        named("benchmark", "scale"),
    )


def _millions(evidence: Evidence) -> Decision:
    case = "1000000 rows, 20 features"
    own, boosting = (
        evidence.timed("local-large", case, who) for who in ("pliant", "gradient boosting")
    )
    return Decision(
        "Regression, a million rows or more than memory holds",
        "`LABRBFRegressor`, on an array or a memory map",
        f"A million rows with 20 features, one thread: {own['seconds']:.0f} s and "
        f"{own['peak_bytes'] / 1e6:.0f} MB beside the data, test R2 {own['result']['test R2']:.3f} "
        f"where the function without noise has {own['result']['R2 of the function']:.3f}; "
        f"gradient boosting with its defaults {boosting['seconds']:.0f} s, "
        f"{boosting['result']['test R2']:.3f}.",
        "Where seconds count more than accuracy: boosting is faster. The function was a smooth, "
        "made-up one.",
        named("benchmark", "local-large"),
    )


def _number(summary: dict[str, object], key: str) -> float:
    """Return a number of a summary, or of what its call returned."""
    result = summary["result"]
    assert isinstance(result, dict)
    found = summary[key] if key in summary else next(v for k, v in result.items() if key in k)
    return float(found)  # type: ignore[arg-type]


COSTS = (_few_thousand, _path, _many, _millions)
"""In the order of the page."""
