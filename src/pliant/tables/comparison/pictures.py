"""Comparison plots: scores, weights, held-out predictions, feature importance.

Feature importance is measured on the test rows of the first fold, for a model fitted on its
training rows.
"""

from __future__ import annotations

import base64
import io
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import ConfusionMatrixDisplay, PredictionErrorDisplay, confusion_matrix

from pliant.core.text import count, quoted
from pliant.core.typing import Array
from pliant.plots import RelevanceDisplay, WeightsDisplay
from pliant.plots._common import BLUE, GREY, VERMILION, class_label, text
from pliant.records.estimators import last_step
from pliant.tables.comparison.blending import BlendOutcome
from pliant.tables.comparison.cells import FittedMethod, predictions_of
from pliant.tables.comparison.folds import outer_split
from pliant.tables.comparison.metrics import metrics_of
from pliant.tables.comparison.outcome import Across, Outcome
from pliant.tables.comparison.protocol import BLEND
from pliant.tables.comparison.sample import Sample
from pliant.tables.comparison.search import names_after
from pliant.tables.comparison.text import decimals, fixed, known, seconds

SCALE, WIDTH = 1.8, 4.8
"""Image pixels per page pixel, and figure width in inches (100 page pixels each)."""

REPEATS, MOST_FEATURES = 3, 20
"""Permutations per feature for importance; maximum number of features drawn."""


@dataclass(frozen=True)
class Picture:
    """A base64-encoded PNG with its title and its size on the page."""

    title: str
    png: str
    width: int
    height: int


def can_draw() -> bool:
    """Return True if matplotlib is installed."""
    return find_spec("matplotlib") is not None


def pictures_of(result: Outcome) -> dict[str, list[Picture]]:
    """Draw the plots of each section: "scores", "history", "weights", "predictions", "importance".

    A plot that fails for any reason is left out, with a warning.
    """
    found: dict[str, list[Picture]] = {}
    for section, drawer, *arguments in _plans(result) if can_draw() else ():
        if (picture := _drawn(drawer, *arguments)) is not None:
            found.setdefault(section, []).append(picture)
    return found


def ranks_picture(ranking: Across) -> Picture | None:
    """Draw the average ranks; return None if it fails."""
    return _drawn(_ranks, ranking) if can_draw() else None


def _plans(result: Outcome) -> Iterator[tuple[Any, ...]]:
    """Yield the section, the drawing function and its arguments for each plot."""
    blend, best = result.blend, result.best
    if any(known(s.low) for s in result.standings()):
        yield "scores", _scores, result
    if result.budget is not None and sum(known(step.mean) for step in result.history) > 1:
        yield "history", _history, result
    if blend is not None:
        if len(blend.weights) > 1:
            yield "weights", _weights, result
        if blend.classes is None:
            yield "predictions", _scatter, blend, result.sample["target"]
        else:
            yield "predictions", _calibration, blend, blend.classes
            yield "predictions", _confusion, blend, blend.classes
    source = result.source
    if source is None or best is None or result.interrupted or source.sample.is_sparse:
        return
    names = result.weights if best == BLEND else [best]
    places = [s.seconds for s in result.standings() if s.method.name in names]
    expected = sum((each["search"] or 0.0) + (each["fit"] or 0.0) for each in places)
    try:
        if expected > 60.0:
            raise TimeoutError(f"no feature importance: a fit takes {seconds(expected)}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # already reported for the folds
            model = result.fit_on_first_fold()
    except Exception as error:
        _left_out(error)
        return
    yield "importance", _importance, result, source.sample, model
    for member in dict(model.members_).values() if best == BLEND else [model]:
        if hasattr(type(last_step(member)), "feature_relevance_"):
            yield "importance", _relevance, member, source.sample


def _left_out(error: Exception) -> None:
    text = f"a picture is left out: {type(error).__name__}: {error}"
    warnings.warn(text, UserWarning, stacklevel=3)


def _drawn(drawer: Callable[..., str], *arguments: Any) -> Picture | None:
    """Draw a plot with a reduced palette; on failure, warn and return None.

    `drawer` takes the axes as its last argument and returns the title.
    """
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # e.g. missing glyphs, classes without rows
            title, canvas = _canvas(drawer, *arguments)
    except Exception as error:
        _left_out(error)
        return None
    picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    few = picture.quantize(64, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    file = io.BytesIO()
    few.save(file, "PNG", optimize=True)
    written = base64.b64encode(file.getvalue()).decode("ascii")
    width, height = (round(pixels / SCALE) for pixels in picture.size)
    return Picture(title, written, width, height)


def _canvas(drawer: Callable[..., str], *arguments: Any) -> tuple[str, Any]:
    """Draw a plot; return its title and the canvas."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained", figsize=(WIDTH, 4.4), dpi=100 * SCALE)
    title = drawer(*arguments, ax := figure.subplots())
    # Beside long names the axes are narrow: the whole figure has room for the label.
    figure.supxlabel(ax.get_xlabel(), fontsize=ax.xaxis.label.get_fontsize())
    ax.set_xlabel("")
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    return title, canvas


def _ranks(ranking: Across, ax: Any) -> str:
    places, half = np.arange(len(ranking.methods)), ranking.critical_difference / 2
    ax.figure.set_size_inches(WIDTH, 1.0 + 0.3 * len(places))
    ax.errorbar(ranking.ranks, places, xerr=half, fmt="o", color=BLUE, ecolor=GREY, capsize=2.0)
    ax.set_yticks(places, [text(entry.title) for entry in ranking.methods])
    ax.invert_yaxis()
    ax.set_xlabel("average rank")
    return f"Average ranks; critical difference {ranking.critical_difference:.2f}"


def _scores(result: Outcome, ax: Any) -> str:
    scored = [(s.method.title, s.mean, s.low, s.high) for s in result.standings()]
    if result.best == BLEND:
        expected = result.expected
        scored.insert(0, ("Blend", expected.mean, expected.low, expected.high))
    shown = [(name, m, a, b) for name, m, a, b in scored if known(m) and known(a) and known(b)]
    names, means, lows, highs = (np.array(part) for part in zip(*shown, strict=True))
    distances = np.abs(means - means[0])
    near = distances <= 3 * np.median(distances) + np.median(highs - lows)
    ends, places = np.abs([lows - means, highs - means])[:, near], np.arange(near.sum())
    ax.figure.set_size_inches(WIDTH, 1.0 + 0.3 * len(places))
    ax.errorbar(means[near], places, xerr=ends, fmt="o", color=BLUE, ecolor=GREY, capsize=2.0)
    ax.set_yticks(places, [text(name) for name in names[near]])
    ax.invert_yaxis()
    ax.locator_params(axis="x", nbins=5)  # labels do not overlap
    ax.set_xlabel(result.metric.title)
    far = "" if near.all() else f"; not shown because much worse: {', '.join(names[~near])}"
    return f"Mean {result.metric.title} on held-out rows with 90 % intervals{far}"


def _history(result: Outcome, ax: Any) -> str:
    steps = [step for step in result.history if known(step.mean)]
    ax.figure.set_size_inches(WIDTH, 2.6)
    times, means = [step.seconds for step in steps], [step.mean for step in steps]
    ax.step(times, means, where="post", color=BLUE, marker="o", markersize=3.0)
    ax.set(xlabel="seconds", ylabel=result.metric.title)
    return f"Expected {result.metric.title} of the best model so far, over time"


def _weights(result: Outcome, ax: Any) -> str:
    titles = {entry.name: entry.title for entry in result.methods}
    weights = list(result.weights.values())
    display = WeightsDisplay(weights, [titles[name] for name in result.weights]).plot(ax)
    ax.figure.set_size_inches(WIDTH, 0.9 + 0.3 * len(weights))
    ax.set_title("")  # the caption has the title
    ax.bar_label(display.bars_, fmt="%.2f", padding=3)
    ax.set_xlim(0.0, 1.15 * max(weights))
    return "Weights: the blend is the weighted mean of these methods' predictions"


def _scatter(blend: BlendOutcome, target: object, ax: Any) -> str:
    from matplotlib.ticker import AutoLocator

    y, values = blend.y, blend.values
    low, high = np.quantile(y - values, [0.05, 0.95])
    PredictionErrorDisplay(y_true=y, y_pred=values).plot(
        ax,
        kind="actual_vs_predicted",
        scatter_kwargs={"color": BLUE, "alpha": 0.45, "s": 12, "linewidths": 0},
        line_kwargs={"color": "black", "linewidth": 0.9},
    )
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(AutoLocator())
    for shift in (low, high):
        ax.axline((values.mean(), values.mean() + shift), slope=1, color=VERMILION, linewidth=0.9)
    ax.set(xlabel="predicted", ylabel=text(target))
    ends = decimals([low, high], [])
    inside = f"90 % of the errors are between {fixed(low, ends)} and {fixed(high, ends)}"
    wide = f"an interval of width {fixed(high - low, ends)}, in the units of the target"
    return f"True against predicted values of {count(len(y), 'held-out row')}: {inside}, {wide}"


def _calibration(blend: BlendOutcome, classes: npt.NDArray[Any], ax: Any) -> str:
    codes = np.searchsorted(classes, blend.y)
    frequent = np.argsort(-np.bincount(codes, minlength=len(classes)), kind="stable")
    chosen = frequent[1:] if len(classes) == 2 else frequent[:5]
    bins = int(np.clip(len(codes) // 30, 3, 10))
    values = blend.values / blend.values.sum(axis=1, keepdims=True)
    for place, k in enumerate(chosen):
        CalibrationDisplay.from_predictions(
            codes == k,
            values[:, k],
            n_bins=bins,
            strategy="quantile",
            name=class_label(classes[k].item()),
            ref_line=place == 0,
            ax=ax,
            markersize=4,
            linewidth=1.2,
            marker="osD^v"[place],
        )
    ax.legend(loc="upper left", fontsize="small", frameon=False)
    ax.set(xlabel="predicted probability", ylabel="observed frequency")
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    some = f" of the {len(chosen)} most frequent classes" if len(chosen) < len(classes) > 2 else ""
    rows = count(len(codes), "held-out row")
    return f"Calibration{some} on {rows}: the dotted line marks perfect calibration"


def _confusion(blend: BlendOutcome, classes: npt.NDArray[Any], ax: Any) -> str:
    said = classes[blend.values.argmax(axis=1)]
    counts = np.bincount(np.searchsorted(classes, blend.y), minlength=len(classes))
    kept = np.sort(np.argsort(-counts, kind="stable")[:30])
    side = min(3.2 + 0.3 * len(kept), 8.0)
    ax.figure.set_size_inches(side + 0.4, side)
    matrix = confusion_matrix(blend.y, said, labels=classes[kept], normalize="true")
    names = [text(label, 16) for label in classes[kept].tolist()]
    ConfusionMatrixDisplay(100 * matrix, display_labels=names).plot(
        ax=ax,
        cmap="Blues",
        values_format=".0f",
        colorbar=False,
        xticks_rotation="horizontal" if len(kept) < 5 else "vertical",
        im_kw={"vmin": 0, "vmax": 100},
        text_kw={"size": 9 if len(kept) < 8 else 7},
    )
    rows = [f"{name} ({counts[k]})" for name, k in zip(names, kept, strict=True)]
    ax.set_yticks(range(len(kept)), rows)
    ax.set(xlabel="predicted class", ylabel="true class (rows)")
    right = int(np.sum(said == blend.y))
    some = f", the {len(kept)} most frequent classes" if len(kept) < len(classes) else ""
    return (
        f"Confusion matrix{some}, in % of each true class: {right} of "
        f"{count(len(said), 'held-out row')} correct"
    )


def _importance(result: Outcome, sample: Sample, model: Any, ax: Any) -> str:
    """Draw the decrease in score when each feature is permuted in the first fold's test rows."""
    random = np.random.default_rng(result.protocol.seed)
    test = outer_split(sample, result.protocol, 0, 0)[1]
    rows = np.sort(random.permutation(test)[:500])
    X, y, columns = sample.X[rows], sample.y[rows], _columns(sample)
    fitted, metric = FittedMethod(model), result.metric

    def score(X: Array) -> float:
        value = metric.finite(y, predictions_of(fitted, X))
        return np.nan if value is None else value if metric.higher_is_better else -value

    start = time.perf_counter()
    whole = score(X)
    if np.isnan(whole):  # e.g. the AUC of a model without probabilities
        metric = metrics_of(result.task)[0]
        whole = score(X)
    if (took := (time.perf_counter() - start) * REPEATS * len(columns)) > 20.0:
        raise TimeoutError(f"the importance of {len(columns)} features would take {seconds(took)}")
    drops = np.zeros((len(columns), REPEATS))
    for place, repeat in np.ndindex(drops.shape):
        permuted, features = X.copy(), columns[place][1]
        permuted[:, features] = X[random.permutation(len(X))][:, features]
        drops[place, repeat] = whole - score(permuted)
    names = [name for name, _ in columns]
    spread = drops.std(axis=1)
    first = _draw_features(
        ax, RelevanceDisplay(drops.mean(axis=1), spread=spread, feature_names=names)
    )
    change = f"{'decrease' if metric.higher_is_better else 'increase'} in {metric.title}"
    ax.set_xlabel(f"{change} if permuted")
    most = f"Most important: {first}" if first else "No feature changes the score by itself"
    where = f"{count(len(rows), 'held-out row')} if a feature is permuted"
    return f"Importance: {change} on {where}. {most}"


def _columns(sample: Sample) -> list[tuple[str, list[int]]]:
    """Return feature names and column indices; the hashed words of a text form one feature."""
    names, inside = sample.feature_names, {j for a, b in sample.texts for j in range(a, b)}
    groups = [(names[j], [j]) for j in range(len(names)) if j not in inside]
    return groups + [(names[a].rpartition(" (")[0], [*range(a, b)]) for a, b in sample.texts]


def _relevance(member: Any, sample: Sample, ax: Any) -> str:
    machine, names = last_step(member), names_after(member, sample.feature_names)
    display = RelevanceDisplay(
        machine.feature_relevance_,
        spread=machine.feature_relevance_spread_,
        correlated=machine.correlated_features_,
        feature_names=names,
    )
    first = _draw_features(ax, display)
    share = "each feature's share of the change in predictions under permutation"
    return f"Relevance in LAB-RBF: {share}. Most relevant: {first or 'none'}"


def _draw_features(ax: Any, display: RelevanceDisplay) -> str:
    """Draw bars for the leading features; name the first three whose values are not 0."""
    display.most_features = MOST_FEATURES
    ax.figure.set_size_inches(WIDTH, 1.4 + 0.26 * min(len(display.relevance), MOST_FEATURES))
    display.plot(ax)
    ax.set_title("")  # the caption has the title
    digits = decimals(display.relevance, display.spread)
    first = [j for j in display.order[:3] if round(float(display.relevance[j]), digits) > 0.0]
    names = [quoted(display.feature_names[j]) for j in first]
    values = [fixed(display.relevance[j], digits) for j in first]
    return ", ".join(map(" ".join, zip(names, values, strict=True)))
