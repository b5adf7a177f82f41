"""What the paper's Tables 1, 2 and 3 print, as text."""

from __future__ import annotations

from typing import TypeAlias

__all__ = ["ELSEWHERE", "LAB", "PRINTED_AS", "R2", "SUPPORT", "printed_mean"]

Printed: TypeAlias = dict[str, dict[str, str]]
"""Cells by method, then by the paper's name of the set."""

LAB = "LAB RBF"


def _cells(names: str, rows: dict[str, str]) -> Printed:
    """Put the words of each row below the words of the heading."""
    return {
        method: dict(zip(names.split(", "), text.split(), strict=True))
        for method, text in rows.items()
    }


_SMALL = "Tecator, Yacht, Airfoil, SML, Parkinson, Comp-active"
_LARGE = "Electrical, KC House, TomsHardware"

_TABLE_1 = _cells(
    _SMALL,
    {
        "RBF KRR": ".9586±.0071 .9889±.0025 .8634±.0248 .9779±.0013 .8919±.0091 .9822",
        "TL1 KRR": ".9670±.0113 .9705±.0033 .9464±.0065 .9947±.0005 .9475±.0034 .9801",
        "R-SVR-MKL": ".9711±.0212 .9945±.0008 .9201±.01099 .9959±.0006 .9032±.0122 .9834",
        "SVR-MKL": ".9698±.0157 .9957±.0022 .9535±.0042 .9970±.0006 .9011±.0110 .9829",
        "Falkon": ".9769±.0086 .9982±.0024 .9377±.0067 .9960±.0007 .9492±.0063 .9808",
        "ResNet": ".9841±.0067 .9940±.0003 .9538±.0066 .9976±.0004 .9906±.0048 .9836",
        "WNN": ".9875±.0044 .9924±.0025 .9128±.0089 .9926±.0008 .9139±.0055 .9817",
        LAB: ".9752±.0139 .9985±.0004 .9608±.0079 .9990±.00005 .9950±.0009 .9835",
    },
)

_TABLE_3 = _cells(
    _LARGE,
    {
        "WNN": ".9617±.0027 .8501±.0194 .9248±.0303",
        "ResNet": ".9705±.0025 .8823±.0117 .9697±.0021",
        "Falkon": ".9532±.0025 .8640±.0145 .9001±.0143",
        LAB: ".9642±.0021 .8917±.0086 .9809±.0028",
    },
)

R2: Printed = {method: cells | _TABLE_3.get(method, {}) for method, cells in _TABLE_1.items()}
"""Tables 1 and 3."""

_TABLE_2 = _cells(
    _SMALL,
    {
        "R-SVR-MKL": "174.2 224.7 953.1 2844 4047 1397",
        "SVR-MKL": "160.7 144.5 1035 1424 3759 1423",
        "Falkon": "100 200 900 2000 4000 1500",
        LAB: "20 30 200 340 110 70",
    },
)

_POINTS_3 = _cells(_LARGE, {"Falkon": "3000 5000 3000", LAB: "300 400 500"})

SUPPORT: Printed = {method: cells | _POINTS_3.get(method, {}) for method, cells in _TABLE_2.items()}
"""Support points: Table 2, and their columns of Table 3."""

PRINTED_AS = {"paper-lab": LAB, "paper-lab-one-draw": LAB, "krr": "RBF KRR", "nystroem": "Falkon"}
"""The paper's name of the method that a contestant stands beside."""

ELSEWHERE = tuple(method for method in R2 if method not in PRINTED_AS.values())
"""The paper's other methods."""


def printed_mean(method: str, printed: str | None) -> float | None:
    """Return the paper's mean R2 of a method on one of its sets, None where it has none."""
    text = R2[method].get(printed or "")
    return None if text is None else float(text.split("±")[0])
