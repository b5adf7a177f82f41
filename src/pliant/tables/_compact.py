"""A CSV as one frame with types, made block by block: its cells are never all texts at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from pliant.tables._csv import typed

if TYPE_CHECKING:
    import pandas as pd

CellType: TypeAlias = Literal["empty", "integer", "float", "boolean", "text"]


class FrameBuilder:
    """Make a frame of the frames of text that `csv_frames` yields.

    A column has the type that `pliant.tables._csv.typed` gives all of its cells. `mixed` lists the
    columns that seemed to be numbers or truth values at first and are text: their first cells were
    not kept, so they have to be read again, as texts.
    """

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._texts = set(texts)
        self._columns: dict[str, _Cells] = {}
        self.rows = 0

    def add(self, frame: pd.DataFrame) -> None:
        """Add the next rows."""
        for name, cells in frame.items():
            column = self._columns.setdefault(str(name), _Cells(str(name) in self._texts))
            column.add(cells)
        self.rows += len(frame)

    @property
    def mixed(self) -> list[str]:
        """The columns that have to be read again."""
        return [name for name, column in self._columns.items() if column.mixed]

    def replace(self, other: FrameBuilder) -> None:
        """Take the columns of another builder, of the same rows, where it has them."""
        self._columns.update(other._columns)

    def frame(self) -> pd.DataFrame:
        """Return the frame; its columns are given up one by one."""
        import pandas as pd

        index = pd.RangeIndex(self.rows)
        columns = {name: column.series(index) for name, column in self._columns.items()}
        return pd.DataFrame(columns, index=index, copy=False)


class _Cells:
    """The cells of a column, in parts."""

    def __init__(self, text: bool) -> None:
        self._type: CellType = "text" if text else "empty"
        self._parts: list[pd.Series] = []
        self._gaps = False
        self.mixed = False

    def add(self, cells: pd.Series) -> None:
        """Add cells of text, as small as their type allows."""
        if self.mixed:
            return
        self._gaps = self._gaps or bool(cells.isna().any())
        if self._type == "text":
            self._parts.append(_small_texts(cells))
            return
        part = typed(cells)
        kind = _type_of(part)
        if "empty" not in (kind, self._type) and not {kind, self._type} <= {"integer", "float"}:
            self.mixed = kind != self._type
        if self.mixed:
            self._parts.clear()
            return
        self._type = _wider(self._type, kind)
        self._parts.append(_small_texts(cells) if kind == "text" else part)

    def series(self, index: pd.RangeIndex) -> pd.Series:
        """Return all cells as one column, with the type of all of them."""
        import pandas as pd

        parts, self._parts = self._parts, []
        match self._type:
            case "text":
                parts = [_small_texts(p) if p.dtype == np.float64 else p for p in parts]
            case "boolean" if self._gaps:
                parts = [p.astype("boolean") for p in parts]
            case "float" | "empty" | "integer" if self._gaps or self._type != "integer":
                parts = [p.astype(np.float64) for p in parts]
        whole = parts[0] if len(parts) == 1 else pd.concat(parts, ignore_index=True)
        return whole.set_axis(index)


def _type_of(part: pd.Series) -> CellType:
    """Return the type of cells to which `typed` gave one."""
    import pandas as pd

    if not part.notna().any():
        return "empty"
    if pd.api.types.is_bool_dtype(part.dtype):
        return "boolean"
    if pd.api.types.is_integer_dtype(part.dtype):
        return "integer"
    return "float" if pd.api.types.is_float_dtype(part.dtype) else "text"


def _wider(one: CellType, other: CellType) -> CellType:
    """Return the type of a column of which some cells have one type and others the other."""
    if "empty" in (one, other):
        return other if one == "empty" else one
    return one if one == other else "float"


def _small_texts(cells: pd.Series) -> pd.Series:
    """Return texts in the smallest form that this version of pandas has with NaN for none."""
    import pandas as pd

    if int(pd.__version__.split(".")[0]) < 3:
        return cells.astype(object)
    return cells.astype(pd.StringDtype(na_value=np.nan))


def built(frames: Iterable[pd.DataFrame], texts: Sequence[str] = ()) -> FrameBuilder:
    """Return a builder that has all of some frames, or the columns ``texts`` of them as texts."""
    builder = FrameBuilder(texts)
    for frame in frames:
        builder.add(frame[list(texts)] if texts else frame)
    return builder
