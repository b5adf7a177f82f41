"""Table 1 of TKL, from the speed benchmark that repeats it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from papers.document import Document
from papers.overview.agreement import QUANTITIES, Agreement
from papers.overview.estimate import Estimate

__all__ = ["NAME", "cells"]

NAME = "tessellated-sdp"
"""The benchmark."""

REPEATS = 30
"""Of the paper."""

ALL_ROWS = ", all rows"

PRINTED = {
    "liver_disorders": ("95.75±2.68", "0.12±0.03"),
    "breast_cancer_original_complete": ("636.17±25.43", "0.41±0.23"),
    "heart_statlog": ("221.67±29.63", "4.71±1.15"),
    "pima_diabetes": ("1211.66±27.01", "0.80±0.36"),
}
"""Seconds of the semidefinite program and of Algorithm 2."""


def cells(document: Document, documents: Mapping[str, Document]) -> list[Agreement]:
    """Return the seconds on all rows of each set."""
    return [
        cell
        for case in document["cases"]
        if case["name"].endswith(ALL_ROWS)
        for cell in _case(case["name"].removesuffix(ALL_ROWS), case["measurements"])
    ]


def _case(name: str, measurements: list[dict[str, Any]]) -> Iterator[Agreement]:
    about = (NAME, "TKL", "Table 1", name, "seconds")
    program, algorithm = (Estimate.printed(text, REPEATS) for text in PRINTED[name])
    yield Agreement(*about, "SDP", program, None)
    yield Agreement(*about, "Algorithm 2", algorithm, _seconds(measurements, "Algorithm 2"))
    yield Agreement(*about, "TKL by pliant", None, _seconds(measurements, "pliant"))


def _seconds(measurements: list[dict[str, Any]], contestant: str) -> Estimate:
    found = [m["processor_seconds"] for m in measurements if m["contestant"] == contestant]
    return Estimate.of(found, QUANTITIES["seconds"].form)
