"""Import scipy.stats when a command uses it.

scikit-learn imports scipy.stats, which takes an eighth of the processor time of ``pliant fit`` on
1000 rows, and most commands call nothing of it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from threading import RLock
from types import ModuleType
from typing import Any

NAME = "scipy.stats"

IMPORTED = ("chi2", "gmean", "rankdata")
"""What modules of scikit-learn import from scipy.stats at once, and use within functions."""


def postpone_statistics() -> None:
    """Let imports of scipy.stats find a stand-in, unless it is imported already."""
    if NAME not in sys.modules and _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


class _StandIn(ModuleType):
    """A module that imports scipy.stats at the first use of a name."""

    def __getattr__(self, name: str) -> Any:
        if name in IMPORTED and _finder in sys.meta_path:
            return _Later(name)
        if name.startswith("__") and name != "__all__":  # `inspect` asks every module
            raise AttributeError(f"module {NAME!r} has no attribute {name!r}")
        return getattr(_imported(), name)


class _Later:
    """A function or distribution of scipy.stats that is imported when it is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(_imported(), self._name)(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"{NAME}.{self._name} has no attribute {name!r}")
        return getattr(getattr(_imported(), self._name), name)


class _Finder(MetaPathFinder, Loader):
    """Find the stand-in; import scipy.stats before one of its submodules."""

    def __init__(self) -> None:
        self._specs: dict[str, ModuleSpec | None] = {}

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> Any:
        """Return the specification of the stand-in or of a submodule."""
        if name == NAME:
            return ModuleSpec(name, self, is_package=True)
        if not name.startswith(f"{NAME}."):
            return None
        path = _imported().__path__
        if (module := sys.modules.get(name)) is None:
            return PathFinder.find_spec(name, path)
        # importlib would execute an imported module again by its own specification
        self._specs[name], module.__spec__ = module.__spec__, ModuleSpec(name, self)
        return module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the stand-in, or the submodule."""
        return _StandIn(NAME) if spec.name == NAME else sys.modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """Give a submodule its specification."""
        if module.__name__ in self._specs:
            module.__spec__ = self._specs.pop(module.__name__)


_finder, _lock = _Finder(), RLock()


def _imported() -> ModuleType:
    """Return scipy.stats, which replaces the stand-in."""
    with _lock:
        if _finder in sys.meta_path:
            sys.meta_path.remove(_finder)
            sys.modules.pop(NAME, None)
    return import_module(NAME)
