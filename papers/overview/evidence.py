"""Numbers of the kept results, by the name of the file that holds them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from papers.accuracy.standing import Standing, gain, standings
from papers.local.results import Results
from papers.scores import Overall, Scores, Way
from papers.side_information.results import Results as SideResults

__all__ = ["Evidence"]


class Evidence:
    """What was measured.

    Parameters
    ----------
    folder : Path
        ``benchmarks/results``: the speed benchmarks, and in ``papers`` the studies.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def local(self, name: str) -> Results:
        """Return the results of a study of LAB-RBF."""
        return Results(self.document(name))

    def side(self, name: str) -> SideResults:
        """Return the results of a study of side information."""
        return SideResults(self.document(name))

    @cached_property
    def defaults(self) -> Scores:
        """The scores of the study that chose the defaults of DANK and KNPL."""
        return Scores(self.document("defaults"))

    def overall(self, way: Way, task: str) -> Overall:
        """Return what a way has over the sets of a task, against the plain machine."""
        (found,) = self.defaults.overall([way], self.defaults.sets(task))
        return found

    def tkl_against(self, peer: str) -> Standing:
        """Return wins, ties and losses of TKL, by the rule of its study."""
        scores = Scores(self.document("tkl-tables-3-4"))
        return standings([gain(scores, name, "tkl", peer) for name in scores.sets()])["rule"]

    def mean(self, results: Results, who: str) -> float:
        """Return the mean over all sets of a study of LAB-RBF."""
        return float(np.mean([results.mean(name, who) for name in results.sets]))

    def figure(self, name: str) -> dict[str, Any]:
        """Return the numbers of a figure."""
        found: dict[str, Any] = self._read("papers/figures/numbers")["figures"][name]["measured"]
        return found

    def document(self, name: str) -> dict[str, Any]:
        """Return the document of a study."""
        return self._read(f"papers/{name}")

    def timed(self, benchmark: str, case: str, contestant: str) -> dict[str, Any]:
        """Return the summary of a contestant in a speed benchmark."""
        cases = {each["name"]: each for each in self.benchmark(benchmark)["cases"]}
        summary: Sequence[dict[str, Any]] = cases[case]["summary"]
        return next(each for each in summary if each["contestant"] == contestant)

    def benchmark(self, name: str) -> dict[str, Any]:
        """Return the document of a speed benchmark."""
        return self._read(name)

    def _read(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / f"{name}.json").read_text("utf-8"))
        return found
