"""Advice for who wants a kernel: without a width, with a certificate, for pictures, from pairs."""

from __future__ import annotations

from papers.overview.advice import Decision, named
from papers.overview.evidence import Evidence
from papers.side_information.peer import DIMENSIONS, variant

__all__ = ["KERNELS"]


def _no_width(evidence: Evidence) -> Decision:
    svm, forest, boosting = (evidence.tkl_against(peer) for peer in ("svm", "forest", "boosting"))
    terrain = evidence.figure("tkl-figure-3")
    upright, turned = (
        [
            terrain[f"turned by {angle} degrees"][who]["RMSE"]
            for who in ("Gaussian SVR", "TKL, degree 2")
        ]
        for angle in (0, 30)
    )
    return Decision(
        "No kernel to choose and no width to tune, at most some 15 features that mean something "
        "each, edges along the axes",
        "`TKLClassifier`, `TKLRegressor`",
        f"Wins, ties and losses over 14 sets, 5 splits: against a tuned Gaussian machine {svm}, a "
        f"forest {forest}, boosting {boosting}. On a canyon with upright edges it misses "
        f"{upright[1]:.0f} m where a tuned Gaussian misses {upright[0]:.0f} m.",
        f"Features without a direction of their own: the same canyon turned by 30 degrees, "
        f"{turned[1]:.0f} m against {turned[0]:.0f} m. Many features: the kernel becomes nearly "
        "linear.",
        f"{named('study', 'tkl-tables-3-4')}; {named('figure', 'tkl-figure-3')}",
    )


def _certificate(evidence: Evidence) -> Decision:
    gaps = evidence.benchmark("tessellated-gaps")["cases"]
    reached = [case["summary"][0]["result"]["reached"] == "yes" for case in gaps]
    large = [
        max(result["variants"]["measured"]["gap"])
        for result in evidence.document("dank-table-4")["results"]
        if result["contestant"] == "exact"
    ]
    return Decision(
        "A certificate: how far from the optimum the fit ended",
        "DANK, KNPL (two-coordinate ascent) or TKL (low-rank P)",
        f"DANK with tau = 0.01 on 7490 to 24 995 rows: a certified relative gap of at most "
        f"{max(large):.0e}. TKL with default settings certifies .001 in {sum(reached)} of "
        f"{len(reached)} cases.",
        "LAB-RBF has none: it is not convex. A certificate is about the problem, not about "
        "accuracy.",
        f"{named('study', 'dank-table-4')}; {named('benchmark', 'tessellated-gaps')}",
    )


def _relevance(evidence: Evidence) -> Decision:
    return Decision(
        "Which features matter, and where",
        "`LABRBFRegressor`, `LABRBFClassifier`: `feature_relevance_`, `support_relevance_`",
        "On a function of five features out of ten (`make_friedman1`) these five have more than "
        "98 % of the relevance; a test holds it.",
        "Two features that say the same: either may get it all.",
        "the examples of docs/methods/lab_rbf.rst, run by the tests",
    )


def _embedding(evidence: Evidence) -> Decision:
    results = evidence.side("scg-embedding")
    said = {
        (name, d): [
            float(results.accuracy(name, who, variant=variant(d)).mean())
            for who in ("scg-ldk", "kernel-fisher", "pca")
        ]
        for name in results.sets
        for d in DIMENSIONS
    }
    each = "; ".join(
        f"{name}, {variant(d)}: {own:.1f}, {fisher:.1f} and {pca:.1f} %"
        for (name, d), (own, fisher, pca) in said.items()
    )
    level = [
        f"{name}, {variant(d)}" for (name, d), (own, fisher, _) in said.items() if own <= fisher
    ]
    return Decision(
        "A picture or a few coordinates that keep the classes apart, for new points as well",
        "`KernelEmbedding`",
        "Held-out points that their 5 nearest neighbours classify rightly, by KernelEmbedding, "
        f"tuned kernel Fisher discriminants and PCA: {each}.",
        f"No lead over kernel Fisher discriminants on {' and '.join(level) or 'none of these'}. "
        "Without labels there is nothing to learn from.",
        named("study", "scg-embedding"),
    )


def _pairs(evidence: Evidence) -> Decision:
    case = "heart_statlog, 270 labels, 36315 pairs"
    scg, ldk = (
        1000 * evidence.timed("log-det", case, who)["seconds"] for who in ("SCG-LDK, labels", "LDK")
    )
    many = evidence.timed("supervised-large", "100000 points, 256 landmarks", "200000 pairs")
    return Decision(
        "Pairs that are similar or dissimilar, in the place of classes",
        "`SCGLogDetLearner`; `LogDetLearner` where distances are to keep to bounds",
        f"270 labels, which make 36 315 pairs: {scg:.0f} ms by SCG-LDK, {ldk:.0f} ms by LDK. "
        f"200 000 pairs among 100 000 points, by landmarks: {many['seconds']:.1f} s.",
        "Where classes are known and a machine is wanted: a Gaussian SVM is as good (above). "
        "Landmarks lose accuracy with a strong learner.",
        named("benchmark", "log-det", "supervised-large"),
    )


KERNELS = (_no_width, _certificate, _relevance, _embedding, _pairs)
"""In the order of the page."""
