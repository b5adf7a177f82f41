"""Facts about a fitted model, as plain data for files and as text for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from pliant.core.estimators import BaseEstimator
from pliant.core.text import count, listed, printable, quoted
from pliant.methods.summary import FunctionSummary, summarize
from pliant.tables.comparison.text import WIDTH, Score, TextColumn, share_text, text_table, wrap

MAX_LISTED = 5
"""Maximum number of features, weights or pairs listed in one fact."""

Fact: TypeAlias = tuple[str, str]
"""The name and the text of a fact."""

# Plain data


def describe_functions(
    estimator: BaseEstimator, feature_names: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Describe each decision or regression function of an estimator.

    The facts are ``n_support`` and ``n_iter``; with more than two classes, two ``classes``; with
    a certificate, ``objective``, ``gap`` and ``relative_gap`` (in the units of ``tol``). Others
    depend on the method. With feature names, some methods add each feature's ``relevance``, its
    ``relevance_spread`` over the members, and the pairs of ``correlated`` features.
    """
    return [_describe(function, feature_names) for function in summarize(estimator).functions]


def _describe(function: FunctionSummary, feature_names: Sequence[str]) -> dict[str, Any]:
    details = dict(function.details)
    names = list(feature_names)
    shares = {key: details.pop(key) for key in ("relevance", "relevance_spread") if key in details}
    correlated = details.pop("correlated", ())
    facts: dict[str, Any] = {"n_support": function.n_support}
    if function.classes is not None:
        facts = {"classes": list(function.classes), **facts}
    if function.gap is not None:
        facts["objective"] = function.objective
        facts["gap"] = function.gap
        facts["relative_gap"] = function.relative_gap
    facts = {**facts, **details, "n_iter": function.n_iter}
    if shares and names:
        for key, values in shares.items():
            facts[key] = dict(zip(names, values.tolist(), strict=True))
        facts["correlated"] = [[names[j], names[k]] for j, k in correlated]
    return facts


def describe_kernel(estimator: BaseEstimator, feature_names: Sequence[str] = ()) -> dict[str, Any]:
    """Describe a kernel learned before the functions, or a weighted sum of kernels.

    For a sum, return the number of ``kernels`` and the nonzero ``weights`` by kernel name, averaged
    over the ``sets`` of weights, one per pair of classes.
    """
    summary = summarize(estimator)
    if summary.weights is None:
        return dict(summary.learner)
    names = summary.weights.names(feature_names or None)
    mean = summary.weights.weights.mean(axis=0).tolist()
    weights = {name: weight for name, weight in zip(names, mean, strict=True) if weight}
    facts = {"kernels": len(names), "sets": len(summary.weights.weights), "weights": weights}
    return {**summary.learner, **facts}


def plain_parameters(estimator: BaseEstimator) -> dict[str, Any]:
    """Return parameters, nested ones as STEP__NAME; convert all but scalars and dicts to text."""
    plain = (str, int, float, bool, type(None), Mapping)
    return {
        name: value if isinstance(value, plain) else repr(value)
        for name, value in estimator.get_params(deep=True).items()
        if not isinstance(value, BaseEstimator)
    }


def summarize_scores(folds: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return each score's mean, sample standard deviation and values per fold."""
    if not folds:
        return None
    titles = [title for title in folds[0] if all(fold.get(title) is not None for fold in folds)]
    values = {title: [fold[title] for fold in folds] for title in titles}
    scores = {
        title: {"mean": float(np.mean(v)), "std": float(np.std(v, ddof=len(v) > 1)), "folds": v}
        for title, v in values.items()
    }
    return {"folds": len(folds), "scores": scores}


# Text


def format_fit(result: Mapping[str, Any]) -> str:
    """Format the result of ``pliant fit``: headline, scores, facts about the fit, next step."""
    data, cv, fit = result["data"], result["cross_validation"], result["fit"]
    classes = "" if data["classes"] is None else f", {len(data['classes'])} classes"
    encoded = data["features"] != len(data["columns"])
    features = f" ({count(data['features'], 'feature')})" if encoded else ""
    size = f"{data['rows']} rows, {count(len(data['columns']), 'column')}{features}{classes}"
    blocks = [f"{result['method']}: {data['task']} of {quoted(data['target'], 30)}, {size}"]
    if cv is not None:
        rows = [{"name": n, "score": Score(s["mean"], s["std"])} for n, s in cv["scores"].items()]
        score = TextColumn("score", "mean ± spread", 4)
        columns = TextColumn("name", f"{cv['folds']} folds"), score
        blocks.append(text_table(rows, columns).rstrip())
        blocks.append(wrap(_compare_with_constant(data, cv["scores"])))
    learned = [*kernel_facts(fit["kernel"]), *function_facts(fit["n_support"], fit["functions"])]
    blocks.append(format_facts([*learned, ("time", f"{fit['seconds']:.3g} s for this fit")]))
    if result["model_file"] is None:
        return "\n\n".join([*blocks, "The model was not saved: add --out MODEL to save it."])
    path = quote_path(result["model_file"])
    ending = f"Saved {path}\nNext: pliant predict {path} TABLE --out predictions.csv"
    return "\n\n".join([*blocks, ending])


def _compare_with_constant(data: Mapping[str, Any], scores: Mapping[str, Any]) -> str:
    """Compare the scores with those of a constant prediction."""
    if (most := data["most_frequent"]) is None:
        constant, base, name = f"the mean of {quoted(data['target'], 30)}", 0.0, "R2"
    else:
        constant, base, name = quoted(most["class"], 30), most["share"], "accuracy"
    sentence = f"Always predicting {constant} has {name} {base:.4g}."
    if name in scores and scores[name]["mean"] < base + 0.5 / data["rows"]:  # half a row
        return f"{sentence} The model is not better than that."
    return sentence


def kernel_facts(kernel: Mapping[str, Any]) -> list[Fact]:
    """Return the facts about a kernel learned from labels, or about a weighted sum of kernels."""
    if not kernel:
        return []
    if "weights" in kernel:
        return _weight_facts(kernel)
    rows, labels = kernel["rows"], kernel["labelled"]
    some = "" if labels == rows else f", {labels} of them labelled"
    printed = [("kernel from", f"{rows} rows{some}")]
    titles = {"graph_parts": "parts of the graph", "objective": "kernel objective"}
    keys = ("strength", "alignment", "eigenvectors", "graph_parts", "pairs", "objective")
    printed += [(titles.get(key, key), format_number(kernel[key])) for key in keys if key in kernel]
    if "bounds" in kernel:
        similar, dissimilar = map(format_number, kernel["bounds"])
        bounds = f"<= {similar} within classes, >= {dissimilar} between classes"
        printed.append(("distances", f"squared: {bounds}"))
        printed.append(("kernel gap", _format_gap(kernel["kernel_gap"])))
    return printed


def _weight_facts(kernel: Mapping[str, Any]) -> list[Fact]:
    """Return the number of kernels with nonzero weight, and the largest weights."""
    weights, sets = kernel["weights"], kernel["sets"]
    mean = f"; mean over {sets} pairs of classes" if sets > 1 else ""
    printed = [("kernels", f"{len(weights)} of {kernel['kernels']} with nonzero weight{mean}")]
    if len(set(weights.values())) == 1 and len(weights) > 1:
        return [*printed, ("each weight", format_number(next(iter(weights.values()))))]
    largest = sorted(weights.items(), key=lambda pair: -abs(pair[1]))
    shown = [f"{quoted(name, 60)} {weight:.2g}" for name, weight in largest]
    return [*printed, ("weights", listed(shown, MAX_LISTED))]


def function_facts(n_support: int | None, functions: Sequence[Mapping[str, Any]]) -> list[Fact]:
    """Return the facts about the functions of a fitted estimator."""
    printed = [] if n_support is None else [("support points", f"{n_support} training rows")]
    # the sum over parts bounds the gap of the separate problems, not of the whole problem
    of_parts = ", for the parts separately" if any("parts" in f for f in functions) else ""
    if len(functions) > 1:
        gaps = [part["relative_gap"] for part in functions]
        largest = max(gaps, key=lambda gap: math.inf if math.isnan(gap) else gap)  # NaN: unknown
        printed.append(("functions", f"{len(functions)}, one for each pair of classes"))
        shared = all("mean_objective" in part for part in functions)
        where = "of their mean objective" if shared else "for each"
        gap = f"relative, {where}: {_format_gap(largest)}{of_parts}"
        return [*printed, ("certified gap", gap)]
    (part,) = functions
    if "gap" in part:
        relative = f"(relative: {_format_gap(part['relative_gap'])})"
        printed.append(("objective", format_number(part["objective"], 7)))
        printed.append(("certified gap", f"{_format_gap(part['gap'])} {relative}{of_parts}"))
    titles = {"rank": "rank of P", "held_out_score": "held-out score"}
    keys = ("eta", "rank", "parts", "members", "held_out_score")
    asides = {"held_out_score": " (R2 on rows that chose the settings)"}
    printed += [
        (titles.get(key, key), format_number(part[key]) + asides.get(key, ""))
        for key in keys
        if key in part
    ]
    return [*printed, *_relevance_facts(part)]


def _relevance_facts(part: Mapping[str, Any]) -> list[Fact]:
    """Return the most relevant features, and their correlations with other features."""
    if "relevance" not in part:
        return []
    largest = sorted(part["relevance"].items(), key=lambda pair: -pair[1])[:MAX_LISTED]
    spreads = part["relevance_spread"]
    shares = [f"{quoted(name, 40)} {share_text(share, spreads[name])}" for name, share in largest]
    top = {name for name, share in largest if share >= 0.01}
    pairs = [f"{quoted(a, 40)} with {quoted(b, 40)}" for a, b in part["correlated"] if top & {a, b}]
    note = f"{listed(pairs, MAX_LISTED)}: either may get the relevance of both"
    correlated = [("correlated", note)] if pairs else []
    return [("most relevant", ", ".join(shares)), *correlated]


def _format_gap(gap: float) -> str:
    return "unknown" if math.isnan(gap) else f"<= {gap:.2g}"


def format_number(value: object, digits: int = 4) -> str:
    """Format a float with `digits` significant digits, and other values as text."""
    return f"{value:.{digits}g}" if isinstance(value, float) else printable(value)


def format_facts(pairs: Iterable[Fact]) -> str:
    """Format facts as two columns: names, and texts wrapped to the remaining width."""
    known = list(pairs)
    indent = 2 + max(len(name) for name, _ in known)
    lines = []
    for name, value in known:
        first, *others = wrap(value, WIDTH - indent).splitlines() or [""]
        lines.append(f"{name:<{indent}}{first}".rstrip())
        lines.extend(" " * indent + other for other in others)
    return "\n".join(lines)


def quote_path(path: object) -> str:
    """Return a file name, quoted for a shell if it contains spaces."""
    text = printable(path, 200)
    return f'"{text}"' if " " in text else text
