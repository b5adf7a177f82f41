"""The method to use against the runner-up and the reference, drawn fold by fold."""

from __future__ import annotations

from collections.abc import Sequence

from pliant.comparison.report.drawing import marker, path, point, written
from pliant.comparison.report.markup import Markup, tag
from pliant.comparison.report.sentences import name_of
from pliant.comparison.report.view import View
from pliant.comparison.stats.paired import PairedTest, corrected_t_test
from pliant.comparison.stats.recommendation import LEVEL, recommend
from pliant.comparison.stats.standings import Standing, held_out_share, scores_of
from pliant.comparison.text import fixed, p_equals, signed
from pliant.core.text import count

WIDTH, HEIGHT, EDGE = 420.0, 40.0, 12.0
"""The size of a drawing and of its margins, in SVG units."""

HINT = (
    "Each point is the difference on one test fold; right of the line the first method is better. "
    "The diamond is the mean, the bar one standard error to either side."
)


def contest(view: View) -> Markup | None:
    """Draw the differences of the method to use to the runner-up and to the reference."""
    advice = recommend(view.standings)
    if advice is None:
        return None
    rivals = [each for each in (_runner_up(view), view.reference) if each is not None]
    others = [each for n, each in enumerate(rivals) if each not in (advice.standing, *rivals[:n])]
    pairs = [(rival, _differences(view, advice.standing, rival)) for rival in others]
    pairs = [(rival, each) for rival, each in pairs if len(each) > 1]
    if not pairs:
        return None
    reach = max(abs(value) for _, each in pairs for value in each) or 1.0
    rows = [_row(view, advice.standing, rival, each, reach) for rival, each in pairs]
    return tag(
        "div",
        tag("p", HINT, class_="hint"),
        tag("ul", rows, class_="contest"),
        class_="card",
    )


def _runner_up(view: View) -> Standing | None:
    return view.ranked[1] if len(view.ranked) > 1 else None


def _differences(view: View, first: Standing, second: Standing) -> list[float]:
    """Return the differences on the common folds, positive where the first is better."""
    sign = 1 if view.metric.higher_is_better else -1
    scores = [
        scores_of(view.common_cells(each.method.name), view.metric.name) for each in (first, second)
    ]
    places = [place for place in scores[0] if place in scores[1]]
    return [sign * (scores[0][place] - scores[1][place]) for place in places]


def _row(
    view: View, first: Standing, second: Standing, differences: Sequence[float], reach: float
) -> Markup:
    """Write what is compared, the drawing, and the test in words."""
    share = held_out_share(view.common_cells(first.method.name).values())
    zeros = [0.0] * len(differences)
    test = corrected_t_test(differences, zeros, n_train=1, n_test=share)
    title = f"{name_of(first)} against {name_of(second)}"
    title = title[0].upper() + title[1:]
    words = _words(view, first, second, test)
    return tag(
        "li",
        tag("strong", title),
        _drawing(f"{title}: {words}", differences, test, reach),
        tag("span", words, class_="note"),
    )


def _words(view: View, first: Standing, second: Standing, test: PairedTest) -> str:
    """Return on how many folds the first is better, by how much, and the p-value.

    Against the reference that is the one of the leaderboard, adjusted for the number of methods.
    """
    p_value = first.p_value if second.is_reference else None
    lead = first.lead
    if p_value is None and lead is not None and lead.method is second.method:
        p_value = lead.p_value
    folds = test.wins + test.ties + test.losses
    better = f"better on {test.wins} of {count(folds, 'fold')}"
    mean = (
        f"{signed(test.mean_difference, view.digits)} ± {fixed(test.standard_error, view.digits)}"
    )
    if p_value is None:
        return f"{better}, {mean}"
    word = "significant" if p_value < LEVEL else "not significant"
    return f"{better}, {mean}, {word} ({p_equals(p_value)})"


def _drawing(title: str, differences: Sequence[float], test: PairedTest, reach: float) -> Markup:
    """Draw a point for each difference, above the mean with its error."""
    reach = 1.05 * max(reach, abs(test.mean_difference) + test.standard_error)

    def across(value: float) -> float:
        return WIDTH / 2 + value / reach * (WIDTH / 2 - EDGE)

    mean, error = test.mean_difference, test.standard_error
    low, high = across(mean - error), across(mean + error)
    return tag(
        "svg",
        tag("title", title),
        path([(EDGE, HEIGHT / 2), (WIDTH - EDGE, HEIGHT / 2)], "rail"),
        path([(across(0.0), 2), (across(0.0), HEIGHT - 2)], "level"),
        [point(across(value), HEIGHT / 3, "fold") for value in differences],
        path([(low, 2 * HEIGHT / 3), (high, 2 * HEIGHT / 3)], "whisker"),
        marker(across(mean), 2 * HEIGHT / 3, 3, "dot"),
        viewBox=f"0 0 {written(WIDTH)} {written(HEIGHT)}",
        role="img",
        class_="duel",
    )
