"""LAB-RBF, Figures 1, 4 and 5: bandwidths, the number of support points, and the start."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from papers.figures import Drawing, Numbers, shared
from papers.generators import cherkassky_function
from pliant import LABRBFAlgorithm, LABRBFPaperRegressor, LABRBFRegressor
from pliant.core.typing import Array

LEARNING_RATE = 0.05

FIXED, ALGORITHM_1 = "one fixed bandwidth", "Algorithm 1"
STARTED, DEFAULTS = "pliant, ridge, so started", "pliant, defaults"

LOOKS = {
    FIXED: (shared.GREY, ":"),
    ALGORITHM_1: (shared.BLUE, "--"),
    STARTED: (shared.PURPLE, "-."),
    DEFAULTS: (shared.VERMILION, "-"),
}
"""Colour and line style of each model."""

Model = Callable[[float, int, int], Any]
"""(Start or share, number of features, seed) -> an unfitted model."""


class Function(NamedTuple):
    """A function on a cube, and the noise of its values."""

    formula: str
    values: Callable[..., Array]
    """Points, shape (n, d), -> values, shape (n,)."""
    end: float
    """Every variable is in [-end, end]."""
    n_features: int
    noise: float
    """Variance of the noise divided by the variance of the values."""

    def sample(self, n: int, n_test: int, random: np.random.Generator) -> shared.Points:
        """Draw uniform points; only the training targets have noise."""
        X = random.uniform(-self.end, self.end, (n + n_test, self.n_features))
        y = self.values(X)
        scale = np.sqrt(self.noise * np.var(y))
        return shared.Points(X[:n], y[:n] + scale * random.standard_normal(n), X[n:], y[n:])


def _cubed(X: Array) -> Array:
    return np.asarray(np.sin(X[:, 0] ** 3))


_named = partial(partial, cherkassky_function)

FUNCTIONS = {
    "sin(x^3)": Function("$\\sin(x^3)$", _cubed, 2.0, 1, 0.4),
    "f1": Function("$f_1$, two variables", _named(function="f1"), 2.0, 2, 0.1),
    "f2": Function("$f_2$, six variables", _named(function="f2"), 1.0, 6, 0.1),
    "f3": Function("$f_3$, four variables", _named(function="f3"), 0.25, 4, 0.1),
}
"""sin(x^3) and the functions of Appendix E, with the noise of Figures 4 and 5. The printed domain
of f1, [-2, -2]^2, is a point and is read as [-2, 2]^2; the domain of sin(x^3) is not given."""


def algorithm_1(n_support: int, start: float, seed: int, **options: Any) -> LABRBFPaperRegressor:
    """Return the paper's algorithm, with initial theta = `start` for all points and features."""
    given = {"learning_rate": LEARNING_RATE, "random_state": seed, **options}
    return LABRBFPaperRegressor(n_support, initial_bandwidth=start, **given)


def bandwidths(s: SimpleNamespace, data: str | None) -> Drawing:
    """Draw a column for each model: its function, its errors, and its bandwidths."""
    random = np.random.default_rng(s.seed)
    x = np.sort(random.uniform(s.low, s.high, s.n))
    y = np.sin(2 * x**3) + s.noise * random.standard_normal(s.n)
    x_test = np.linspace(s.low, s.high, s.resolution)
    points = shared.Points(x[:, None], y, x_test[:, None], np.sin(2 * x_test**3))
    models = {
        f"γ = {gamma:g} everywhere": KernelRidge(kernel="rbf", gamma=gamma, alpha=s.ridge)
        for gamma in s.gammas
    }
    models["Algorithm 1"] = algorithm_1(s.n_support, s.start, s.seed, max_iter=s.max_iter)
    models["pliant, defaults"] = LABRBFRegressor(s.n_support, random_state=s.seed)
    heights = {"sharex": True, "sharey": "row", "height_ratios": (2, 1, 1.4)}
    figure, rows = shared.canvas(3.4 * len(models), 6.2, 3, len(models), **heights)
    measured = {}
    for column, (name, model) in zip(rows.T, models.items(), strict=True):
        model.fit(points.X, points.y)
        error = 1.0 - model.score(points.X_test, points.y_test)
        measured[name] = {"1 - R2": float(error), **_draw_model(column, model, points, s)}
        column[0].set_title(f"{name}\n1 − R² = {error:.2g}", fontsize=10)
    for ax, label in zip(rows[:, 0], ("y", "prediction − y", "γ = θ²"), strict=True):
        ax.set_ylabel(label)
    rows[2, 0].set_yscale("log")
    listed = [{"name": name, "m": numbers} for name, numbers in measured.items()]
    return figure, measured, {"errors": listed, "medians": listed[len(s.gammas) :]}


def _draw_model(column: Any, model: Any, points: shared.Points, s: SimpleNamespace) -> Numbers:
    """Draw a model; return errors and bandwidths in the slow and the fast half."""
    x, middle = points.X_test[:, 0], (s.low + s.high) / 2
    missed = model.predict(points.X_test) - points.y_test
    column[0].plot(x, points.y_test, color=shared.GREY, linewidth=3, alpha=0.35)
    column[0].plot(*points.X.T, points.y, ".", color=shared.BLUE, markersize=3)
    column[0].plot(x, missed + points.y_test, color=shared.VERMILION, linewidth=1.2)
    column[1].plot(x, missed, color=shared.VERMILION, linewidth=1)
    fixed = isinstance(model, KernelRidge)
    if fixed:
        places, gammas = points.X[[0, -1], 0], np.full(2, model.gamma)
    else:
        kernels = [member.kernel_ for member in model.members_]
        places = np.concatenate([kernel.centres[:, 0] for kernel in kernels])
        gammas = np.concatenate([kernel.bandwidths[:, 0] ** 2 for kernel in kernels])
    column[2].plot(places, gammas, "-" if fixed else ".", color=shared.VERMILION)
    column[2].set_xlabel("x")
    return {
        **{f"rms error, {half} half": float(np.sqrt(np.mean(missed[part] ** 2)))
           for half, part in (("slow", x < middle), ("fast", x >= middle))},
        **{f"median gamma, {half} half": float(np.median(gammas[part]))
           for half, part in (("slow", places < middle), ("fast", places >= middle))},
    }  # fmt: skip


def support(s: SimpleNamespace, data: str | None) -> Drawing:
    """Draw the error against the share of support points among the training points."""
    models: dict[str, Model] = {
        ALGORITHM_1: lambda share, d, k: algorithm_1(
            round(share * s.n), 1.0 / d, k, max_iter=s.max_iter
        ),
        DEFAULTS: lambda share, d, k: LABRBFRegressor(round(share * s.n), random_state=k),
    }
    measured = {name: _lines(s, f, s.n, models, s.shares) for name, f in FUNCTIONS.items()}
    percent = [100 * share for share in s.shares]
    figure, panels = _draw_errors(measured, percent, 3.5, marker="o", markersize=3)
    for ax in panels:
        ax.set(xlabel="support points (% of training points)")
    panels[0].legend(fontsize=8)

    def least(line: Numbers) -> str:
        share, best = min(line.items(), key=lambda each: each[1]["mean"])
        return f"{best['mean']:.2g} at {100 * float(share):.0f} %"

    best = [
        {"name": name, "printed": least(lines[ALGORITHM_1]), "ours": least(lines[DEFAULTS])}
        for name, lines in measured.items()
    ]
    noise = [FUNCTIONS[name].noise for name in ("sin(x^3)", "f1")]
    return figure, measured, {"noise": noise, "best": best}


def start(s: SimpleNamespace, data: str | None) -> Drawing:
    """Draw the error against the initial bandwidth; the defaults select their own."""
    models: dict[str, Model] = {
        FIXED: lambda sigma, d, k: _fixed_bandwidth(sigma / d),
        ALGORITHM_1: lambda sigma, d, k: algorithm_1(
            s.n_support, sigma / d, k, max_iter=s.max_iter
        ),
        STARTED: lambda sigma, d, k: LABRBFRegressor(
            s.n_support,
            n_members=1,
            random_state=k,
            algorithm=LABRBFAlgorithm(objective="ridge", initial_bandwidth=sigma / d),
        ),
    }
    default: dict[str, Model] = {
        DEFAULTS: lambda _, d, k: LABRBFRegressor(s.n_support, random_state=k)
    }
    n, measured = s.n_support + s.n_more, {}
    for name, function in FUNCTIONS.items():
        level = _lines(s, function, n, default, [0.0])[DEFAULTS]["0"]
        lines = _lines(s, function, n, models, s.sigmas)
        measured[name] = {**lines, DEFAULTS: {f"{sigma:g}": level for sigma in s.sigmas}}
    figure, panels = _draw_errors(measured, s.sigmas, 3.7)
    for ax in panels:
        ax.set(xscale="log", xlabel="σ at the start (θ = σ/M)")
    shared.legend_of(panels[0], "lower center")

    def span(line: Numbers) -> str:
        least = min(each["mean"] for each in line.values())
        near = [sigma for sigma, each in line.items() if each["mean"] <= 2 * least]
        ends = near[0] if len(near) == 1 else f"{near[0]} to {near[-1]}"
        return f"{least:.2g} (σ {ends})"

    parts = [
        {
            "name": name,
            "spans": ", ".join(span(lines[each]) for each in (FIXED, ALGORITHM_1, STARTED)),
            "ours": min(each["mean"] for each in lines[DEFAULTS].values()),
        }
        for name, lines in measured.items()
    ]
    return figure, measured, {"rate": LEARNING_RATE, "parts": parts}


def _fixed_bandwidth(theta: float) -> TransformedTargetRegressor:
    """Return kernel ridge regression with exp(-theta^2 |x - z|^2), features on [-1, 1]."""
    ridge = KernelRidge(kernel="rbf", gamma=theta**2, alpha=1e-3)
    scaled = make_pipeline(MinMaxScaler((-1.0, 1.0)), ridge)
    return TransformedTargetRegressor(scaled, transformer=StandardScaler(with_std=False))


def _lines(
    s: SimpleNamespace, function: Function, n: int, models: Mapping[str, Model],
    positions: Sequence[float],
) -> Numbers:  # fmt: skip
    """Return mean and deviation of 1 - R2 of each model at each position, learned from n points."""
    rngs = (np.random.default_rng([s.seed, k]) for k in range(s.repeats))
    samples = [function.sample(n, s.n_test, rng) for rng in rngs]
    found: Numbers = {}
    for name, make in models.items():
        found[name] = {}
        for place in positions:
            errors = [
                1.0 - make(place, function.n_features, k).fit(p.X, p.y).score(p.X_test, p.y_test)
                for k, p in enumerate(samples)
            ]
            summary = {"mean": float(np.mean(errors)), "deviation": float(np.std(errors, ddof=1))}
            found[name][f"{place:g}"] = summary
    return found


def _draw_errors(measured: Numbers, x: Sequence[float], height: float, **look: Any) -> Any:
    """Draw the means, and a standard deviation to either side where it is positive."""
    figure, (panels,) = shared.canvas(3.3 * len(FUNCTIONS), height, 1, len(FUNCTIONS))
    for ax, lines in zip(panels, measured.values(), strict=True):
        for name, line in lines.items():
            color, dash = LOOKS[name]
            mean, deviation = (
                np.array([each[key] for each in line.values()]) for key in ("mean", "deviation")
            )
            ax.plot(x, mean, dash, color=color, label=name, **look)
            low = np.maximum(mean - deviation, mean / 10)
            ax.fill_between(x, low, mean + deviation, color=color, alpha=0.2, linewidth=0)
        ax.set(yscale="log")
        ax.tick_params(axis="y", which="minor", labelleft=False)
    shared.lettered(panels, [function.formula for function in FUNCTIONS.values()])
    panels[0].set_ylabel("1 − R² on test points")
    return figure, panels
