"""All kernels, given and learned: functions of two sets of points.

The given ones are defined in this folder, the learned ones in the folders of their methods.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pliant.core.exceptions import set_public_module
from pliant.kernels.base import (
    FunctionKernel,
    Kernel,
    Normalized,
    Product,
    Rescaled,
    Scaled,
    Sum,
)
from pliant.kernels.extension import batch_reciprocal_neighbors
from pliant.kernels.on import On, resolve_columns
from pliant.kernels.precomputed import Precomputed
from pliant.kernels.standard import (
    KERNEL_NAMES,
    TL1,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Sigmoid,
    as_kernel,
)
from pliant.kernels.weighted_sum import WeightedSum

if TYPE_CHECKING:
    from pliant.methods.dank.kernel import (
        EXTENSIONS,
        AdaptiveMatrix,
        HadamardKernel,
        PartitionedKernel,
    )
    from pliant.methods.lab_rbf.kernel import LocalRBFKernel, Mapped, Warp
    from pliant.methods.supervised.kernels import LogDetKernel
    from pliant.methods.supervised.neighbor_graph import NeighborGraphKernel, SpectralKernel
    from pliant.methods.tkl.generalized_kernel import (
        GeneralizedKernel,
        GeneralizedPolynomial,
        QuadratureKernel,
        TessellatedKernel,
    )

LEARNED = {
    "AdaptiveMatrix": "dank.kernel",
    "EXTENSIONS": "dank.kernel",
    "GeneralizedKernel": "tkl.generalized_kernel",
    "GeneralizedPolynomial": "tkl.generalized_kernel",
    "HadamardKernel": "dank.kernel",
    "LocalRBFKernel": "lab_rbf.kernel",
    "LogDetKernel": "supervised.kernels",
    "Mapped": "lab_rbf.kernel",
    "NeighborGraphKernel": "supervised.neighbor_graph",
    "PartitionedKernel": "dank.kernel",
    "QuadratureKernel": "tkl.generalized_kernel",
    "SpectralKernel": "supervised.neighbor_graph",
    "TessellatedKernel": "tkl.generalized_kernel",
    "Warp": "lab_rbf.kernel",
}
"""Modules of `pliant.methods` that define the learned kernels."""

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

set_public_module(globals(), set(__all__) - set(LEARNED))


def __getattr__(name: str) -> Any:
    """Import a learned kernel when it is used: methods import the given kernels."""
    if name not in LEARNED:
        raise AttributeError(f"module 'pliant.kernels' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"pliant.methods.{LEARNED[name]}"), name)
    return value


def __dir__() -> list[str]:
    return list(__all__)
