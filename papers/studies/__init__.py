"""The studies: each table of a paper, or study of our own, as `papers/studies.toml` declares it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from papers.beside import Beside, Shown
from papers.contestants.hadamard import CONTESTANTS
from papers.data import toml
from papers.results import Way
from papers.study import Contestant, Entry, Study


def _study(
    name: str,
    page: str,
    protocol: dict[str, Any],
    sets: Sequence[str],
    contestants: Sequence[Any],
    beside: dict[str, Any],
    only: Mapping[str, Sequence[str]] = {},
    most_repeats: Mapping[str, Mapping[str, int]] = {},
    exceptions: Mapping[str, Mapping[str, Mapping[str, Any]]] = {},
    **given: Any,
) -> Study:
    """Return the study that a table of the file describes."""
    module, _, middle = page.partition(":")
    contents = import_module(f"papers.studies.{module}")
    sections = contents.sections
    if middle:
        sections = partial(sections, middle=getattr(contents, middle))
    entries = tuple(
        Entry(
            each,
            tuple(only.get(each.name, sets)),
            tuple(most_repeats.get(each.name, {}).items()),
            tuple((k, tuple(v.items())) for k, v in exceptions.get(each.name, {}).items()),
        )
        for each in map(_contestant, contestants)
    )
    return Study(
        name, protocol=_made(**protocol), entries=entries, sections=sections,
        beside=_beside(**beside), **given,
    )  # fmt: skip


def _contestant(declared: Any) -> Contestant:
    return CONTESTANTS[declared] if isinstance(declared, str) else _made(**declared)


def _made(of: str, **fields: Any) -> Any:
    """Return an object of a class in `papers.contestants`, such as ``"tkl.Forest"``."""
    module, _, kind = of.partition(".")
    given = {key: tuple(v) if isinstance(v, list) else v for key, v in fields.items()}
    return getattr(import_module(f"papers.contestants.{module}"), kind)(**given)


def _beside(
    columns: Mapping[str, Sequence[Any]] = {},
    own: Sequence[Any] = (),
    baseline: Mapping[str, Sequence[str]] = {},
    **given: Any,
) -> Beside:
    return Beside(
        columns={method: tuple(map(_shown, shown)) for method, shown in columns.items()},
        own=tuple(map(_shown, own)),
        baseline={task: (_way(who), title) for task, (who, title) in baseline.items()},
        **given,
    )


def _shown(declared: Any) -> Shown:
    if isinstance(declared, str):
        return Shown(_way(declared))
    return Shown(**declared | {"way": _way(declared["way"])})


def _way(text: str) -> Way:
    return Way(*text.split(":"))


STUDIES = {name: _study(name, **table) for name, table in toml("studies").items()}
"""The studies by name, in the order of the papers."""
