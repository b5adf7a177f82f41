"""All kernels: predefined kernels, and learned ones from `pliant.methods`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pliant.core.exceptions import set_public_module
from pliant.kernels.base import (
    FunctionKernel,
    Kernel,
    Normalized,
    On,
    Product,
    Rescaled,
    Scaled,
    Sum,
    WeightedSum,
    resolve_columns,
)
from pliant.kernels.extension import batch_reciprocal_neighbors
from pliant.kernels.standard import (
    KERNEL_NAMES,
    TL1,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    Sigmoid,
    as_kernel,
)

if TYPE_CHECKING:
    from pliant.methods.dank.kernel import (
        EXTENSIONS,
        AdaptiveMatrix,
        HadamardKernel,
        PartitionedKernel,
    )
    from pliant.methods.lab_rbf.kernel import LocalRBFKernel, Mapped, Warp
    from pliant.methods.supervised.learner import LogDetKernel
    from pliant.methods.supervised.neighbor_graph import NeighborGraphKernel, SpectralKernel
    from pliant.methods.tkl.generalized_kernel import (
        GeneralizedKernel,
        GeneralizedPolynomial,
        QuadratureKernel,
        TessellatedKernel,
    )

__all__ = [
    "EXTENSIONS",
    "KERNEL_NAMES",
    "TL1",
    "AdaptiveMatrix",
    "FunctionKernel",
    "Gaussian",
    "GeneralizedKernel",
    "GeneralizedPolynomial",
    "HadamardKernel",
    "Kernel",
    "Laplacian",
    "Linear",
    "LocalRBFKernel",
    "LogDetKernel",
    "Mapped",
    "Matern",
    "NeighborGraphKernel",
    "Normalized",
    "On",
    "PartitionedKernel",
    "Polynomial",
    "Precomputed",
    "Product",
    "QuadratureKernel",
    "Rescaled",
    "Scaled",
    "Sigmoid",
    "SpectralKernel",
    "Sum",
    "TessellatedKernel",
    "Warp",
    "WeightedSum",
    "as_kernel",
    "batch_reciprocal_neighbors",
    "resolve_columns",
]

set_public_module(globals(), __all__)


def __getattr__(name: str) -> Any:
    """Import a learned kernel lazily: `pliant.methods` imports this module."""
    if name not in __all__:
        raise AttributeError(f"module 'pliant.kernels' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module("pliant.methods"), name)
    return value


def __dir__() -> list[str]:
    return list(__all__)
