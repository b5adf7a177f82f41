"""Import a package when a command uses it, not when another package imports it.

scikit-learn imports scipy.stats, which takes an eighth of the processor time of ``pliant fit`` on
1000 rows, and most commands call nothing of it.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from threading import Lock
from types import ModuleType
from typing import Any

STATISTICS = ("chi2", "gmean", "rankdata")
"""What modules of scikit-learn import from scipy.stats at once, and use within functions."""


def postpone(package: str, imported: Collection[str]) -> None:
    """Let imports of a package find a stand-in, unless it is imported already.

    The stand-in imports the package at the first use of a name. Names that other modules import
    at once, and use later, are in `imported`.
    """
    if package not in sys.modules:
        sys.meta_path.insert(0, _Postponed(package, imported))


class _Postponed(MetaPathFinder, Loader):
    """Find the stand-in of a package; import the package before one of its submodules."""

    def __init__(self, package: str, imported: Collection[str]) -> None:
        self.package, self.imported = package, imported
        self._lock = Lock()
        self._specs: dict[str, ModuleSpec | None] = {}

    @property
    def waits(self) -> bool:
        """True until the package is imported."""
        return self in sys.meta_path

    def module(self) -> ModuleType:
        """Return the package, which replaces the stand-in."""
        with self._lock:
            if self.waits:
                sys.meta_path.remove(self)
                sys.modules.pop(self.package, None)
        return import_module(self.package)

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> Any:
        """Return the specification of the stand-in or of a submodule."""
        if name == self.package:
            return ModuleSpec(name, self, is_package=True)
        if not name.startswith(f"{self.package}."):
            return None
        path = self.module().__path__
        if (module := sys.modules.get(name)) is None:
            return PathFinder.find_spec(name, path)
        # importlib would execute an imported module again by its own specification
        self._specs[name], module.__spec__ = module.__spec__, ModuleSpec(name, self)
        return module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the stand-in, or the submodule."""
        return _StandIn(self) if spec.name == self.package else sys.modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """Give a submodule its specification."""
        if module.__name__ in self._specs:
            module.__spec__ = self._specs.pop(module.__name__)


class _StandIn(ModuleType):
    """A module that imports the package at the first use of a name."""

    def __init__(self, postponed: _Postponed) -> None:
        super().__init__(postponed.package)
        self._postponed = postponed

    def __getattr__(self, name: str) -> Any:
        if self._postponed.waits:
            if name in self._postponed.imported:
                return _Later(self._postponed, name)
            if name.startswith("__") and name != "__all__":  # `inspect` asks every module
                raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(self._postponed.module(), name)


class _Later:
    """A function or object of the package that is imported when it is used."""

    def __init__(self, postponed: _Postponed, name: str) -> None:
        self._postponed, self._name = postponed, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._postponed.module(), self._name)(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(getattr(self._postponed.module(), self._name), name)
