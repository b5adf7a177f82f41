"""Learn kernels from data.

Every method learns a kernel function. ``fit`` sets up a problem, runs a solver, and stores the
learned kernel (``kernel_``) with its coefficients; all methods predict with
``kernel_(X, support_vectors_) @ dual_coef_ + intercept_``. A learned kernel is an ordinary kernel
object: callable on new points and usable in any kernel method, directly or through its Gram matrix.

Public names and modules are imported on demand, so importing the package is fast.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # importing typing is slow
if TYPE_CHECKING:
    from typing import Any

    from pliant.methods import *  # noqa: F403

_ELSEWHERE = {
    "FeatureScaleWarning": "pliant.core.exceptions",
    "ModelFileError": "pliant.core.exceptions",
    "NonPSDWarning": "pliant.core.exceptions",
    "SideInformation": "pliant.methods.supervised.information",
    "TableError": "pliant.core.exceptions",
    "UniformWeightsWarning": "pliant.core.exceptions",
    "__version__": "pliant._version",
    "compare": "pliant.comparison",
    "fit": "pliant.comparison",
    "kernel_alignment": "pliant.metrics",
    "scg_loss": "pliant.methods.supervised.information",
}
"""Modules of the public names that are not in `pliant.methods`."""

_MODULES = ("core", "kernels", "methods", "metrics")
"""Public submodules that are attributes of the package."""


def __getattr__(name: str) -> Any:
    """Import a public name or module at its first use; ``__all__`` lists the public names."""
    value: Any
    if name in _ELSEWHERE:
        value = getattr(import_module(_ELSEWHERE[name]), name)
    elif name in _MODULES:
        value = import_module(f"pliant.{name}")
    elif name == "__all__":
        value = sorted({*_ELSEWHERE, *import_module("pliant.methods").EXPORTED})
    elif name[0] != "_" and name in (methods := import_module("pliant.methods")).EXPORTED:
        value = getattr(methods, name)
    else:
        raise AttributeError(f"module 'pliant' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the names in the package, including those not imported yet."""
    return sorted({*globals(), *__getattr__("__all__"), *_MODULES})
