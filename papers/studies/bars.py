"""The bars that were set before LAB-RBF's studies: each is met or missed, and by how much."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from papers.data import Estimate, paper_sets, printed
from papers.results import Results
from papers.study import Study

LAB = "LAB RBF"
"""The paper's name of its method."""


@dataclass(frozen=True)
class Bar:
    """What was asked for, whether it is met, and the numbers."""

    asked: str
    met: bool
    outcome: str

    def __str__(self) -> str:
        """Return a line of a list."""
        return f"* {'Met' if self.met else 'Missed'}: {self.asked}. {self.outcome}."


FLOORS = {
    "tecator": 0.97,
    "yacht": 0.996,
    "airfoil": 0.955,
    "sml2010_room": 0.998,
    "parkinsons_total": 0.995,
    "comp_activ": 0.982,
    "grid_stability": 0.964,
    "kc_house": 0.86,
}
"""Mean R2 with the paper's support points and one member."""

BELOW_PAPER = dict.fromkeys(tuple(FLOORS)[:6], 0.002) | {"airfoil": 0.006}
"""How far below the paper a set of its Table 1 may be."""

KC_HOUSE_AIM = 0.89

LEAST_ABOVE_PAPER = 3

LEAST_PARKINSON = 0.995
"""Of every split: one member stops near .991 on some of them."""

MOST_BELOW_BOOSTING = 0.012


def paper_mean(name: str, method: str = LAB) -> float:
    """Return the mean R2 that the paper prints for a set of ours."""
    row = paper_sets("lab")[name].printed
    estimate = Estimate.printed(printed("lab-rbf-tables-1-2")[row or ""]["R2"][method], 50)
    assert estimate is not None
    return estimate.mean


def bars(study: Study, results: Results) -> list[Bar]:
    """Judge a study that was measured on all of its sets; before, there is nothing to judge."""
    if study.name not in BARS or set(results.sets) != set(study.sets):
        return []
    return list(BARS[study.name](results))


def tables(results: Results) -> Iterator[Bar]:
    """Judge the paper's support points with one member: three draws of them, and one."""
    for who in ("paper-lab", "paper-lab-one-draw"):
        for bar in _tables(results, who):
            yield replace(bar, asked=f"{results.titles[who]}: {bar.asked}")
    least = {
        who: float(results.values("parkinsons_total", who).min())
        for who in ("lab", "paper-lab", "paper-lab-one-draw")
    }
    each = ", ".join(f"{results.titles[who]} {r2:.4f}" for who, r2 in least.items())
    yield Bar(
        f"the members of the default setting reach {LEAST_PARKINSON} on every split of "
        "parkinsons_total",
        least["lab"] >= LEAST_PARKINSON,
        f"The least: {each}",
    )


def _tables(results: Results, who: str) -> Iterator[Bar]:
    means = {name: results.mean(name, who) for name in results.sets}
    paper = {name: paper_mean(name) for name in means}
    above = {name: mean - FLOORS[name] for name, mean in means.items()}
    yield Bar(
        "mean R2 at or above its floor on every set",
        min(above.values()) >= 0,
        _distances(above, "floor"),
    )
    beside = {name: means[name] - paper[name] for name in BELOW_PAPER}
    count = sum(gap > 0 for gap in beside.values())
    yield Bar(
        f"above the paper on at least {LEAST_ABOVE_PAPER} of the 6 sets of Table 1",
        count >= LEAST_ABOVE_PAPER,
        f"{count} of 6. {_distances(beside, 'paper')}",
    )
    slack = {name: gap + BELOW_PAPER[name] for name, gap in beside.items()}
    yield Bar(
        "none of the 6 more than .002 below the paper (airfoil: .006)",
        min(slack.values()) >= 0,
        _distances(slack, "limit"),
    )
    aims = (
        ("grid_stability", paper["grid_stability"], "the paper on Electrical"),
        ("kc_house", KC_HOUSE_AIM, "the aim on kc_house"),
    )
    for name, limit, what in aims:
        comparison = f"{means[name]:.4f} against {limit:.4f}, {means[name] - limit:+.4f}"
        yield Bar(f"above {what}", means[name] > limit, comparison)
    everywhere = sum(means[name] > paper[name] for name in means)
    yield Bar(
        "the aim of being above the paper on every set",
        everywhere == len(means),
        f"{everywhere} of {len(means)}",
    )


def defaults(results: Results) -> Iterator[Bar]:
    """Judge the default settings beside boosting, kernel ridge and xRFM."""
    boosting = _gaps(results, "tuned-boosting")
    yield _ahead("tuned gradient boosting", boosting, 10)
    least = min(boosting, key=lambda each: boosting[each])
    yield Bar(
        f"never more than {MOST_BELOW_BOOSTING} below tuned gradient boosting",
        boosting[least] >= -MOST_BELOW_BOOSTING,
        f"The least is {least}, {boosting[least]:+.4f}",
    )
    yield _ahead("tuned kernel ridge", _gaps(results, "krr"), 12)
    for peer in ("tuned-xrfm", "xrfm"):
        yield _level(results, peer)


def _gaps(results: Results, peer: str) -> dict[str, float]:
    return {name: gain.mean for name, gain in results.compared("lab", peer).items()}


def _ahead(peer: str, gaps: Mapping[str, float], least: int) -> Bar:
    count = sum(gap > 0 for gap in gaps.values())
    behind = ", ".join(f"{name} {gap:+.4f}" for name, gap in gaps.items() if gap <= 0) or "none"
    return Bar(
        f"ahead of {peer} on at least {least} of {len(gaps)} sets by the mean",
        count >= least,
        f"{count}; behind: {behind}",
    )


def _level(results: Results, peer: str) -> Bar:
    """Judge the sets that xRFM was measured on; level is within one standard error."""
    title = results.all_titles[peer]
    asked = f"ahead of or level with {title} (one paired standard error) on at least 5 of 6 sets"
    gains = results.compared("lab", peer)
    if not gains:
        return Bar(asked, False, "Not installed: not measured")
    level = [name for name, gain in gains.items() if gain.mean >= -gain.error]
    each = ", ".join(f"{name} {gain.mean:+.4f} ± {gain.error:.4f}" for name, gain in gains.items())
    return Bar(asked, len(level) >= 5, f"{len(level)} of {len(gains)}: {each}")


def classification(results: Results) -> Iterator[Bar]:
    """Judge the classifier beside the support vector machine."""
    lab, svc = (results.overall_mean(who) for who in ("lab-classifier", "svc"))
    yield Bar(
        "mean accuracy over the sets above the tuned Gaussian SVC's",
        lab - svc > 0,
        f"{100 * lab:.2f} against {100 * svc:.2f} %, {100 * (lab - svc):+.2f}",
    )
    splice = results.mean("splice_train", "lab-classifier")
    yield Bar("splice at least .95", splice >= 0.95, f"{splice:.4f}, {splice - 0.95:+.4f}")
    signs = dict.fromkeys(results.sets, -1.0)
    compared = results.compared("lab-classifier", "svc", "log_loss", signs)
    gains = {name: gain.mean for name, gain in compared.items()}
    mean = sum(gains.values()) / len(gains)
    worse = ", ".join(f"{name} {-gap:+.3f}" for name, gap in gains.items() if gap < 0) or "none"
    yield Bar(
        "mean log loss over the sets no worse than the calibrated SVC's",
        mean >= 0,
        f"Lower by {mean:.4f} on average; higher on: {worse}",
    )


def _distances(gaps: Mapping[str, float], what: str) -> str:
    each = ", ".join(f"{name} {gap:+.4f}" for name, gap in gaps.items())
    return f"Distance to the {what}: {each}"


BARS: dict[str, Callable[[Results], Iterator[Bar]]] = {
    "lab-rbf-tables-1-2": tables,
    "lab-rbf-defaults": defaults,
    "lab-rbf-classification": classification,
}
"""The bars of each study."""
