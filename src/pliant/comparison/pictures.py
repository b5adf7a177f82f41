"""Pictures of a comparison: weights and held-out predictions of the blend, and what matters to it.

Held-out predictions are those of the result. What matters is learned from a model that is fitted
on the training rows of the first fold and asked about its test rows.
"""

from __future__ import annotations

import base64
import io
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from sklearn.calibration import CalibrationDisplay, calibration_curve
from sklearn.metrics import ConfusionMatrixDisplay, PredictionErrorDisplay, confusion_matrix

from pliant.comparison.blending import BlendOutcome
from pliant.comparison.cells import FittedMethod, predictions_of
from pliant.comparison.folds import outer_split
from pliant.comparison.metrics import Metric, metrics_of
from pliant.comparison.pipeline import last_step, names_after
from pliant.comparison.record import LEARNED
from pliant.comparison.result import BLEND, ComparisonResult
from pliant.comparison.sample import Sample
from pliant.comparison.search import SearchResult
from pliant.comparison.text import decimals, fixed, seconds, share_text
from pliant.core.summary import summarize
from pliant.core.text import count, quoted
from pliant.core.typing import Array
from pliant.plots import CriticalDifferenceDisplay, RelevanceDisplay, WeightsDisplay
from pliant.plots._common import BLUE, GREY, VERMILION, class_label, text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pliant.comparison.across import Across

SCALE = 1.8
"""Pixels of a file for each pixel of the page, so that letters are sharp."""

COLOURS = 64
"""Colours of a picture, so that its file stays small."""

WIDTH = 4.8
"""Inches of a picture, 100 pixels of the page each."""

SLOWEST = 60.0
"""Seconds of a fit, and of predictions for the importance, beyond which there is no picture."""

MOST_ROWS, REPEATS = 500, 3
"""Test rows and permutations of an importance."""

MOST_FEATURES, MOST_RELEVANT = 30, 15
"""Features of a picture of the importance, and of LAB-RBF's relevance, at most."""

MOST_POINTS, MOST_CURVES, MOST_CLASSES = 1500, 5, 30
"""Points of a scatter, classes with a curve of their own, and classes of a matrix at most."""

Drawer: TypeAlias = Callable[[Any], tuple[str, str]]
"""Draws on axes; returns the title and the text for those who do not see the picture."""


@dataclass(frozen=True)
class Picture:
    """A picture as PNG in base64, its title, its description, and its size on the page."""

    title: str
    alt: str
    png: str
    width: int
    height: int


def can_draw() -> bool:
    """Return whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def pictures_of(result: ComparisonResult) -> dict[str, list[Picture]]:
    """Return the pictures by section: "weights", "predictions", "importance".

    A picture that cannot be made, whatever the reason, is left out, with a warning.
    """
    found: dict[str, list[Picture]] = {}
    if can_draw():
        for section, drawer, size in _plans(result):
            try:
                found.setdefault(section, []).append(_drawn(drawer, size))
            except Exception as error:
                _left_out(error)
    return found


def ranks_picture(ranking: Across) -> Picture | None:
    """Return average ranks on a line, and a bar over each group; None without matplotlib."""
    if not can_draw():
        return None
    names = [entry.title for entry in ranking.methods]
    display = CriticalDifferenceDisplay(names, ranking.ranks, ranking.critical_difference)

    def draw(ax: Any) -> tuple[str, str]:
        display.plot(ax)
        ranks = [f"{name} {rank:.2f}" for name, rank in zip(names, ranking.ranks, strict=True)]
        apart = f"critical difference {ranking.critical_difference:.2f}"
        return "Average ranks", f"Average ranks: {', '.join(ranks)}; {apart}"

    return _drawn(draw, display._size)


def _plans(result: ComparisonResult) -> Iterator[tuple[str, Drawer, tuple[float, float]]]:
    """Yield the section, the function that draws and the size in inches of each picture."""
    blend = result.blend
    if blend is not None:
        if len(blend.weights) > 1:
            height = 0.9 + 0.3 * len(blend.weights)
            yield "weights", partial(_weights, result, blend), (WIDTH, height)
        if blend.classes is None:
            yield "predictions", partial(_scatter, result, blend), (WIDTH, 4.4)
        else:
            yield "predictions", partial(_calibration, blend), (WIDTH, 4.4)
            side = min(3.2 + 0.3 * len(blend.classes), 8.0)
            yield "predictions", partial(_confusion, blend), (side + 0.4, side)
    if result.source is None or result.best is None or result.interrupted:
        return
    try:
        model = _model_of(result)
        importance = _importance(result, model, result.source.sample)
    except Exception as error:
        _left_out(error)
        return
    shown = min(int(np.sum(importance.means != 0)) or 1, MOST_FEATURES)
    yield "importance", importance.draw, (WIDTH, 1.2 + 0.26 * shown)
    members = dict(model.members_) if result.best == BLEND else {result.best: model}
    kinds = {entry.name: entry.kind for entry in result.methods}
    for name, member in members.items():
        if kinds[name] == LEARNED and "relevance" in summarize(last_step(member)).drawings:
            names = names_after(member, result.source.sample.feature_names)
            height = 1.4 + 0.26 * min(len(names), MOST_RELEVANT)
            yield "importance", partial(_relevance, member, names), (WIDTH, height)


def _left_out(error: Exception) -> None:
    text = f"a picture is left out: {type(error).__name__}: {error}"
    warnings.warn(text, UserWarning, stacklevel=3)


def _drawn(drawer: Drawer, size: tuple[float, float]) -> Picture:
    """Return the picture that a function draws on axes."""
    from matplotlib.figure import Figure

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a glyph that the font lacks, a class without rows
        figure = Figure(layout="constrained", figsize=size)
        title, alt = drawer(figure.subplots())
        return _png(figure, title, alt)


def _png(figure: Figure, title: str, alt: str) -> Picture:
    """Return a figure as a picture of few colours, sharp on fine screens."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    figure.set_dpi(100 * SCALE)
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    few = picture.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    file = io.BytesIO()
    few.save(file, "PNG", optimize=True)
    written = base64.b64encode(file.getvalue()).decode("ascii")
    width, height = (round(pixels / SCALE) for pixels in picture.size)
    return Picture(title, alt, written, width, height)


def _weights(result: ComparisonResult, blend: BlendOutcome, ax: Any) -> tuple[str, str]:
    titles = {entry.name: entry.title for entry in result.methods}
    names, weights = [titles[name] for name in blend.weights], list(blend.weights.values())
    display = WeightsDisplay(weights, names).plot(ax)
    ax.set_title("")  # the caption has it
    ax.bar_label(display.bars_, fmt="%.2f", padding=3)
    ax.set_xlim(0.0, 1.15 * max(weights))
    shares = [f"{name} {weight:.2f}" for name, weight in zip(names, weights, strict=True)]
    return (
        "The blend predicts the weighted mean of these methods",
        f"Weights of the blend: {', '.join(shares)}",
    )


def _scatter(result: ComparisonResult, blend: BlendOutcome, ax: Any) -> tuple[str, str]:
    y, values = blend.y, blend.values
    low, high = np.quantile(y - values, [0.05, 0.95])
    drawn = np.linspace(0, len(y) - 1, min(len(y), MOST_POINTS)).astype(np.intp)
    order = np.argsort(y, kind="stable")[drawn]
    PredictionErrorDisplay(y_true=y[order], y_pred=values[order]).plot(
        ax,
        kind="actual_vs_predicted",
        scatter_kwargs={"color": BLUE, "alpha": 0.45, "s": 12, "linewidths": 0},
        line_kwargs={"color": "black", "linewidth": 0.9},
    )
    for shift in (low, high):
        ax.axline((values.mean(), values.mean() + shift), slope=1, color=VERMILION, linewidth=0.9)
    ax.set(xlabel="predicted", ylabel=text(result.sample["target"]))
    ends = decimals([low, high], [])
    inside = f"90 % of the errors are between {fixed(low, ends)} and {fixed(high, ends)}"
    wide = f"an interval {fixed(high - low, ends)} wide, in the units of the target"
    some = "" if len(drawn) == len(y) else f", {len(drawn)} of them drawn"
    title = f"Truth against prediction for {count(len(y), 'held-out row')}{some}: {inside}, {wide}"
    correlation = np.corrcoef(y, values)[0, 1] if np.ptp(values) > 0 else 0.0
    return title, f"{title}. Their correlation is {correlation:.3f}"


def _calibration(blend: BlendOutcome, ax: Any) -> tuple[str, str]:
    """Draw the share of rows of a class over its predicted probability."""
    classes = blend.classes
    assert classes is not None
    codes = np.searchsorted(classes, blend.y)
    frequent = np.argsort(-np.bincount(codes, minlength=len(classes)), kind="stable")
    chosen = frequent[1:] if len(classes) == 2 else frequent[:MOST_CURVES]
    bins = int(np.clip(len(codes) // 30, 3, 10))
    values = blend.values / blend.values.sum(axis=1, keepdims=True)
    for place, k in enumerate(chosen):
        y, p = codes == k, values[:, k]
        true, predicted = calibration_curve(y, p, n_bins=bins, strategy="quantile")
        name = class_label(classes[k].item())
        look = {"markersize": 4, "linewidth": 1.2, "marker": "osD^v"[place]}
        CalibrationDisplay(true, predicted, p).plot(ax=ax, ref_line=place == 0, name=name, **look)
    ax.set(xlabel="predicted probability", ylabel="share of rows of that class")
    ax.legend(loc="upper left", fontsize="small", frameon=False)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    some = f" of the {len(chosen)} most frequent classes" if len(chosen) < len(classes) > 2 else ""
    title = f"Calibration{some} on {count(len(codes), 'held-out row')}"
    p = values[np.arange(len(codes)), codes]
    alt = f"{title}: share of the rows over the predicted probability, in {bins} bins of equal size"
    return (
        f"{title}: on the dotted line, probabilities are right",
        f"{alt}; the mean probability of the true class is {p.mean():.3f}",
    )


def _confusion(blend: BlendOutcome, ax: Any) -> tuple[str, str]:
    """Draw the share of each true class by the predicted class."""
    classes = blend.classes
    assert classes is not None
    said = classes[blend.values.argmax(axis=1)]
    counts = np.bincount(np.searchsorted(classes, blend.y), minlength=len(classes))
    kept = np.sort(np.argsort(-counts, kind="stable")[:MOST_CLASSES])
    matrix = confusion_matrix(blend.y, said, labels=classes[kept], normalize="true")
    names = [text(label, 16) for label in classes[kept].tolist()]
    display = ConfusionMatrixDisplay(100 * matrix, display_labels=names)
    numbers = {"size": 9 if len(kept) < 8 else 7}
    display.plot(
        ax=ax,
        cmap="Blues",
        values_format=".0f",
        colorbar=False,
        xticks_rotation="horizontal" if len(kept) < 5 else "vertical",
        im_kw={"vmin": 0, "vmax": 100},
        text_kw=numbers,
    )
    ax.set_yticks(
        range(len(kept)), [f"{n} ({counts[k]})" for n, k in zip(names, kept, strict=True)]
    )
    ax.set(xlabel="predicted class", ylabel="true class (rows)")
    right = int(np.sum(said == blend.y))
    some = f", the {len(kept)} most frequent classes" if len(kept) < len(classes) else ""
    title = (
        f"Confusion matrix{some}, in % of the rows of each true class: {right} of "
        f"{count(len(said), 'held-out row')} right"
    )
    recalls = [f"{quoted(n)} {matrix[k, k]:.0%}" for k, n in enumerate(names[:MOST_CURVES])]
    return title, f"{title}. Right of true class: {', '.join(recalls)}"


def _model_of(result: ComparisonResult) -> Any:
    """Return the model to use, fitted on the training rows of the first fold."""
    names = result.blend.weights if result.best == BLEND and result.blend else [result.best]
    times = [s.seconds for s in result.standings() if s.method.name in names]
    expected = sum((each["search"] or 0.0) + (each["fit"] or 0.0) for each in times)
    if expected > SLOWEST:
        raise TimeoutError(f"what matters is not measured: a fit takes {seconds(expected)}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the folds have reported them
        return result.fit_on_first_fold()


@dataclass(frozen=True, eq=False)
class Importance:
    """The loss of score when a feature is permuted: means and standard deviations over repeats."""

    metric: Metric
    names: list[str]
    means: Array
    spreads: Array
    rows: int

    def draw(self, ax: Any) -> tuple[str, str]:
        """Draw a bar for each feature that matters, the most important on top."""
        order = np.argsort(-self.means, kind="stable")[:MOST_FEATURES]
        order = [j for j in order if self.means[j] != 0] or list(order[:1])
        ax.barh(
            [text(self.names[j]) for j in order],
            self.means[order],
            xerr=self.spreads[order],
            color=BLUE,
            ecolor=GREY,
            capsize=2.0,
        )
        ax.set_yticks(range(len(order)), [text(self.names[j]) for j in order])
        ax.invert_yaxis()
        ax.axvline(0.0, color="black", linewidth=0.8)
        worse = "loss of" if self.metric.higher_is_better else "increase of"
        ax.set_xlabel(f"{worse} {self.metric.title}, if permuted")
        n = len(self.names)
        some = f" ({len(order)} of {n} are drawn)" if len(order) < n else ""
        title = (
            f"Importance of columns{some}: {worse} {self.metric.title} on "
            f"{count(self.rows, 'held-out row')} if the values of a column change places"
        )
        digits = decimals(self.means, self.spreads)
        first = [f"{quoted(self.names[j])} {fixed(self.means[j], digits)}" for j in order[:3]]
        return title, f"{title}. Most important: {', '.join(first)}"


def _importance(result: ComparisonResult, model: Any, sample: Sample) -> Importance:
    """Permute each column of test rows of the first fold; hashed words of a text together."""
    _, test = outer_split(sample, result.protocol, 0, 0)
    random = np.random.default_rng(result.protocol.seed)
    rows = np.sort(random.permutation(test)[:MOST_ROWS])
    X, y = sample.features(rows), sample.y[rows]
    fitted = FittedMethod(model, SearchResult({}, None, 0, {}), {})

    def score(metric: Metric, X: Array) -> float:
        value = metric.finite(y, predictions_of(fitted, X))
        return np.nan if value is None else value if metric.higher_is_better else -value

    start = time.perf_counter()
    metric = result.metric
    if np.isnan(score(metric, X)):  # such as the AUC of a model without probabilities
        metric = metrics_of(result.task)[0]
    whole = score(metric, X)
    took = time.perf_counter() - start
    groups = _columns(sample)
    repeats = REPEATS if took * REPEATS * len(groups) < SLOWEST / 2 else 1
    if took * repeats * len(groups) > SLOWEST:
        raise TimeoutError(f"what matters of {len(groups)} columns takes too long to measure")
    drops = np.zeros((len(groups), repeats))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for place, (_, columns) in enumerate(groups):
            for repeat in range(repeats):
                permuted = X.copy()
                permuted[:, columns] = X[random.permutation(len(X))][:, columns]
                drops[place, repeat] = whole - score(metric, permuted)
    names = [name for name, _ in groups]
    return Importance(metric, names, drops.mean(axis=1), drops.std(axis=1), len(rows))


def _columns(sample: Sample) -> list[tuple[str, list[int]]]:
    """Return the name and the features of each column: one, or the hashed words of a text."""
    names, inside = sample.feature_names, {j for a, b in sample.texts for j in range(a, b)}
    groups = [(names[j], [j]) for j in range(len(names)) if j not in inside]
    texts = [(names[a].rpartition(" (")[0] or names[a], [*range(a, b)]) for a, b in sample.texts]
    return groups + texts


def _relevance(member: Any, names: list[str], ax: Any) -> tuple[str, str]:
    display = RelevanceDisplay.from_estimator(
        last_step(member), feature_names=names, most_features=MOST_RELEVANT, ax=ax
    )
    ax.set_title("")
    shown = [
        f"{display.feature_names[j]} {share_text(display.relevance[j], display.spread[j])}"
        for j in display.order[:3]
    ]
    title = "Relevance in LAB-RBF: the share of each feature in the change of its predictions"
    return title, f"{title}. Most relevant: {', '.join(shown)}"
