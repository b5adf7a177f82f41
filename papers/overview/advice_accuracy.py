"""Advice for who wants to predict well."""

from __future__ import annotations

import numpy as np

from papers.local.results import Results
from papers.overview.advice import Decision, named
from papers.overview.evidence import Evidence
from papers.scores import PLAIN, Way

__all__ = ["ACCURACY"]

DANK = Way("dank-0.01", "fixed/smooth")
KNPL = Way("knpl", "fixed/smooth")


def _regression(evidence: Evidence) -> Decision:
    results = evidence.local("lab-rbf-defaults")
    lab, boosting, ridge = (evidence.mean(results, who) for who in ("lab", "tuned-boosting", "krr"))
    behind = _behind(results, "lab", "tuned-boosting")
    listed = ", ".join(f"{name} by {-gap:.3f}" for name, gap in behind.items())
    total = len(results.sets)
    return Decision(
        "Regression, some hundred to some ten thousand rows, without tuning",
        "`LABRBFRegressor` as it comes",
        f"Mean R2 over {total} sets, 10 splits: {lab:.3f}; tuned gradient boosting "
        f"{boosting:.3f}, tuned Gaussian kernel ridge {ridge:.3f}. By the mean it is ahead of "
        f"boosting on {total - len(behind)} of {total} sets and of kernel ridge on "
        f"{total - len(_behind(results, 'lab', 'krr'))}.",
        f"Behind boosting on {listed or 'none'}: where a number names a group, and where the "
        f"target jumps along the axes. A fit takes {_times(results, 'lab', 'boosting'):.0f} times "
        "as long as gradient boosting with its defaults (median over the sets).",
        named("study", "lab-rbf-defaults"),
    )


def _small_regression(evidence: Evidence) -> Decision:
    results = evidence.local("lab-rbf-defaults")
    sets = [name for name in results.sets if results.has(name, "gp")]
    each = ", ".join(
        f"{name} {results.mean(name, 'gp'):.4f} and {results.mean(name, 'lab'):.4f}"
        for name in sets
    )
    rows = max(results.group(name, "gp")["n_train"] for name in sets)
    return Decision(
        f"Regression, at most {rows} or so rows, smooth",
        "scikit-learn's Gaussian process with one length a feature beside `LABRBFRegressor`",
        f"R2 of the process and of LAB-RBF: {each}.",
        "More rows: the process costs their third power, and was not measured there.",
        named("study", "lab-rbf-defaults"),
    )


def _classification(evidence: Evidence) -> Decision:
    results = evidence.local("lab-rbf-classification")
    means = {
        who: 100 * evidence.mean(results, who)
        for who in ("lab-classifier", "svc", "boosting-classifier", "forest-classifier")
    }
    lab, svc, boosting, forest = means.values()
    sides = [results.gain(name, "lab-classifier", "svc").verdict for name in results.sets]
    worse = [name for name, side in zip(results.sets, sides, strict=True) if side < 0]
    return Decision(
        "Classification, without tuning",
        "`LABRBFClassifier` as it comes, or a forest, or gradient boosting",
        f"Mean accuracy over {len(sides)} sets, 5 splits: LAB-RBF {lab:.1f} %, tuned Gaussian SVM "
        f"{svc:.1f} %, boosting {boosting:.1f} %, forest {forest:.1f} %. It is ahead of the SVM on "
        f"{sides.count(1)} sets and behind on {sides.count(-1)} (by more than one standard error).",
        f"Behind the SVM on {', '.join(worse)}; and a fit takes "
        f"{_times(results, 'lab-classifier', 'forest-classifier'):.0f} times as long as a forest's "
        "(median over the sets), for an accuracy that is level with it.",
        named("study", "lab-rbf-classification"),
    )


def _adapted(evidence: Evidence) -> Decision:
    dank, knpl = (evidence.overall(way, "classification") for way in (DANK, KNPL))
    plain = evidence.overall(PLAIN, "classification")
    sets = len(evidence.defaults.sets("classification"))
    return Decision(
        "Classification, and you have a tuned Gaussian SVM",
        "Keep it: it is as good as DANK and KNPL",
        f"Mean accuracy over {sets} sets, 10 halves: SVM {plain.mean:.1f} %, DANK {dank.mean:.1f} "
        f"% (p = {dank.p_value:.2f} over the sets), KNPL {knpl.mean:.1f} % (p = "
        f"{knpl.p_value:.2f}). By the paired t test DANK is better on {dank.better} sets and worse "
        f"on {dank.worse}. Its defaults were chosen on these very sets.",
        "On a table of your own: put DANK with `extension` and `eta_scale` into the same "
        "cross-validation, and let it decide.",
        named("study", "defaults"),
    )


def _adapted_regression(evidence: Evidence) -> Decision:
    scores = evidence.defaults
    found, plain = (evidence.overall(way, "regression") for way in (DANK, PLAIN))
    names = scores.sets("regression")
    space, bodyfat = (
        [float(scores.values(name, way).mean()) for way in (PLAIN, DANK)]
        for name in ("space", "bodyfat")
    )
    return Decision(
        "Regression by a Gaussian SVR, a convex problem",
        "`DANKRegressor` with its defaults beside the SVR",
        f"Mean 1 - R2 over {len(names)} sets, 10 halves: SVR {plain.mean:.3f}, DANK "
        f"{found.mean:.3f} (p = {found.p_value:.2f} over the sets); most on space, "
        f"{space[0]:.3f} to {space[1]:.3f}. Its defaults were chosen on these very sets.",
        f"A target that is nearly linear: on bodyfat {bodyfat[0]:.3f} becomes {bodyfat[1]:.3f}. "
        "Where convexity does not matter, see the first row.",
        named("study", "defaults"),
    )


def _labels(evidence: Evidence) -> Decision:
    small, large = evidence.side("scg-table-3"), evidence.side("scg-table-5")
    scg, plain = small.means(["scg-ldk", "gaussian"]).mean(axis=0)
    scg_large, plain_large = large.means(["scg-ldk", "gaussian"]).mean(axis=0)
    return Decision(
        "A better SVM through a kernel learned from the labels, many or few",
        "A tuned Gaussian SVM; the learned kernel adds nothing",
        f"Mean accuracy over {len(small.sets)} sets, 20 divisions, 70 % labelled: SCG-LDK "
        f"{scg:.1f} %, Gaussian {plain:.1f} %. Adult with 200 to 1200 labels, {len(large.sets)} "
        f"sets: {scg_large:.1f} and {plain_large:.1f} %.",
        "Embeddings and neighbours are another matter, see below.",
        named("study", "scg-table-3", "scg-table-5"),
    )


def _behind(results: Results, first: str, peer: str) -> dict[str, float]:
    """Return the sets on which the first is behind by the mean, and by how much."""
    gaps = {name: results.gain(name, first, peer).mean for name in results.sets}
    return {name: gap for name, gap in gaps.items() if gap <= 0}


def _times(results: Results, first: str, peer: str) -> float:
    """Return how many times as long the first takes, choice included; median over the sets."""

    def seconds(name: str, who: str) -> float:
        return sum(results.mean(name, who, f"{part}_seconds") for part in ("fit", "tuning"))

    return float(np.median([seconds(n, first) / seconds(n, peer) for n in results.sets]))


ACCURACY = (
    _regression,
    _small_regression,
    _classification,
    _adapted,
    _adapted_regression,
    _labels,
)
"""In the order of the page."""
