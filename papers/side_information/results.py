"""The measurements of a study: numbers of all repeats, and paired differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from papers.document import Document
from papers.side_information.contestant import MEASURED
from pliant.core.typing import Array

__all__ = ["Results", "judged"]


def judged(protocol: Mapping[str, Any]) -> str:
    """Return which points a machine is judged by: those of the test, or else the unlabelled."""
    return "test" if protocol["test"] > 0 else "unlabelled"


class Results:
    """What a document says of its sets and contestants.

    Parameters
    ----------
    document : dict
        As `papers.document.document` makes it, with ``protocol.contestants``.
    """

    def __init__(self, document: Document) -> None:
        self.sets: list[str] = document["sets"]
        self.repeats: int = document["repeats"]
        self.part = judged(document["protocol"]["protocol"])
        self._found = {(r["set"], r["contestant"]): r for r in document["results"]}
        titles = {c["name"]: c["title"] for c in document["protocol"]["contestants"]}
        measured = {contestant for _, contestant in self._found}
        self.titles = {name: title for name, title in titles.items() if name in measured}

    def has(self, name: str, contestant: str) -> bool:
        """Return whether the contestant was measured on the set."""
        return (name, contestant) in self._found

    def group(self, name: str, contestant: str) -> Mapping[str, Any]:
        """Return the document's entry."""
        return self._found[name, contestant]

    def chosen(self, name: str, contestant: str, key: str, variant: str = MEASURED) -> list[Any]:
        """Return what was chosen, or any other entry, repeat by repeat."""
        return list(self._found[name, contestant]["variants"][variant][key])

    def accuracy(
        self, name: str, contestant: str, part: str | None = None, variant: str = MEASURED
    ) -> Array:
        """Return the accuracies of all repeats, in per cent."""
        return 100.0 * np.array(self.chosen(name, contestant, part or self.part, variant), float)

    def seconds(self, name: str, contestant: str) -> float:
        """Return the median time of learning the kernel."""
        return float(np.median(self.chosen(name, contestant, "kernel_seconds")))

    def means(self, contestants: Sequence[str], variant: str = MEASURED) -> Array:
        """Return mean accuracies over the shared repeats, (number of sets, of contestants)."""
        return np.array(
            [self.shared(name, contestants, variant).mean(axis=1) for name in self.sets]
        )

    def shared(self, name: str, contestants: Sequence[str], variant: str = MEASURED) -> Array:
        """Return the accuracies on the repeats that all contestants share, (contestants, r)."""
        columns = [
            dict(
                zip(
                    self._found[name, who]["repeat"],
                    self.accuracy(name, who, variant=variant),
                    strict=True,
                )
            )
            for who in contestants
        ]
        common = sorted(set.intersection(*map(set, columns)))
        return np.array([[column[repeat] for repeat in common] for column in columns])
