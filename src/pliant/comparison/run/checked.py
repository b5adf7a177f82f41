"""Whether plain data from a journal can be the record of a cell, of any table and of this one."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

from pliant.comparison.metrics import metrics_of
from pliant.comparison.protocol import DEFAULT, SAMPLED, SEARCHED
from pliant.comparison.record import Record
from pliant.comparison.sample import Sample
from pliant.core.text import quoted

MOST = 2**53
"""The largest integer: any count below is a float without rounding."""

BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}", re.ASCII)

SHARES = ("accuracy", "balanced_accuracy", "auc")
"""Metrics from 0 to 1."""

ROUNDING = 1e-9
"""How far rounding may take a metric out of its range."""

Check = Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MOST


def _is_number(value: Any) -> bool:
    if type(value) is int:
        return abs(value) <= MOST
    return isinstance(value, float) and math.isfinite(value)


def _is_amount(value: Any) -> bool:
    return _is_number(value) and value >= 0


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, str | bool) or _is_number(value)


def _maybe(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _dict_of(check: Check) -> Check:
    return lambda value: isinstance(value, dict) and all(map(check, value.values()))


def _fields(**checks: Check) -> Check:
    """Return a check for a dict of just these fields."""
    return lambda value: (
        isinstance(value, dict)
        and value.keys() == checks.keys()
        and all(check(value[name]) for name, check in checks.items())
    )


def _is_curve_point(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_number, value))


def _are_predictions(value: Any) -> bool:
    whole = _fields(rows=_list_of(_is_count), values=_list_of(_is_scalar))(value)
    return whole and len(value["rows"]) == len(value["values"]) and _rises(value["rows"])


def _rises(numbers: list[int]) -> bool:
    return all(low < high for low, high in pairwise(numbers))


def _is_base64(value: Any) -> bool:
    return isinstance(value, str) and BASE64.fullmatch(value) is not None


def _is_positive(value: Any) -> bool:
    return _is_count(value) and value > 0


NEEDED: dict[str, tuple[Check, str]] = {
    "method": (_is_text, "a text"),
    "repeat": (_is_count, "an integer from 0"),
    "fold": (_is_count, "an integer from 0"),
    "status": (lambda value: value in ("done", "error"), "'done' or 'error'"),
    "error": (_maybe(_is_text), "a text or null"),
    "scores": (_dict_of(_maybe(_is_number)), "finite numbers by name"),
}
"""The fields of every record: a check of the value, and what is expected."""

MEASURED: dict[str, tuple[Check, str]] = {
    "rows": (_fields(train=_is_positive, test=_is_positive), "counts of training and test rows"),
    "seconds": (_dict_of(_maybe(_is_amount)), "times by name"),
}
"""The further fields of a cell that is done."""

OTHERS: dict[str, tuple[Check, str]] = {
    "stage": (lambda value: value in (SAMPLED, DEFAULT, SEARCHED), "the name of a stage"),
    "chosen": (_dict_of(_is_scalar), "settings by name"),
    "inner_score": (_maybe(_is_number), "a finite number or null"),
    "candidates": (_is_count, "an integer from 0"),
    "curve": (_list_of(_is_curve_point), "pairs of finite numbers"),
    "predictions": (_maybe(_are_predictions), "rows, rising, and a value for each"),
    "support": (_maybe(_is_amount), "a number from 0, or null"),
    "gap": (_maybe(_is_number), "a finite number or null"),
    "memory_mb": (_maybe(_is_amount), "a number from 0, or null"),
    "size_bytes": (_maybe(_is_amount), "a number from 0, or null"),
    "pictures": (_list_of(_fields(title=_is_text, alt=_is_text, png=_is_base64)), "pictures"),
    "warnings": (_list_of(_is_text), "texts"),
}
"""Fields that may be absent."""


def fault_of(record: Any) -> str:
    """Return why plain data cannot be the record of a cell; "" if it can."""
    if not isinstance(record, dict):
        return "expected a finished cell"
    needed = NEEDED | MEASURED if record.get("status") == "done" else NEEDED
    known = NEEDED | MEASURED | OTHERS
    for name, value in record.items():
        if name not in known:
            return f"unexpected field {quoted(name)} of a cell"
        if not _passes(known[name][0], value):
            return f"expected {known[name][1]} as {name} of a cell, got {quoted(value)}"
    missing = [name for name in needed if name not in record]
    if missing:
        return f"expected {missing[0]} of a cell"
    if bool(record["scores"]) != (record["status"] == "done"):
        return "expected scores of a cell that is done, and of no other"
    return ""


def _passes(check: Check, value: Any) -> bool:
    try:
        return check(value)
    except TypeError:  # a value that cannot be compared with names
        return False


def misfit_of(record: Record, sample: Sample) -> str:
    """Return why the record of a cell cannot be of this table; "" if it can."""
    if record["status"] == "error":
        return ""
    n_rows, counts = len(sample.y), record["rows"]
    if counts["train"] + counts["test"] > n_rows:
        return f"expected at most {n_rows} rows, got {counts['train']} + {counts['test']}"
    known = {metric.name for metric in metrics_of(sample.task)}
    for name, score in record["scores"].items():
        if name not in known:
            return f"unexpected metric {quoted(name)}"
        if score is not None and not _is_possible(name, score):
            return f"{name} = {score:g} is out of its range"
    kept = record.get("predictions") or {"rows": [], "values": []}
    if kept["rows"] and kept["rows"][-1] >= n_rows:
        return f"expected predictions of rows below {n_rows}, got {kept['rows'][-1]}"
    return _strange_prediction(kept["values"], sample)


def _is_possible(metric: str, score: float) -> bool:
    if metric in SHARES:
        return -ROUNDING <= score <= 1 + ROUNDING
    return score <= 1 + ROUNDING if metric == "r2" else score >= 0


def _strange_prediction(values: Iterable[Any], sample: Sample) -> str:
    """Return what is wrong with predictions: numbers for regression, else classes of the table."""
    classes = None if sample.classes is None else set(sample.classes)
    for value in values:
        if classes is None and not (_is_number(value) or value is None):
            return f"expected a number as prediction, got {quoted(value)}"
        if classes is not None and value not in classes:
            return f"expected a class of the table as prediction, got {quoted(value)}"
    return ""
