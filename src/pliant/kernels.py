"""The public door to all kernels, given and learned: functions of two sets of points."""

from pliant.core.exceptions import set_public_module
from pliant.core.kernels.base import (
    FunctionKernel,
    Kernel,
    Normalized,
    Product,
    Rescaled,
    Scaled,
    Sum,
)
from pliant.core.kernels.extension import batch_reciprocal_neighbors
from pliant.core.kernels.on import On, resolve_columns
from pliant.core.kernels.precomputed import Precomputed
from pliant.core.kernels.standard import (
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
from pliant.core.kernels.weighted_sum import WeightedSum
from pliant.methods.hadamard.kernel import (
    EXTENSIONS,
    AdaptiveMatrix,
    HadamardKernel,
    PartitionedKernel,
)
from pliant.methods.lab_rbf.kernel import LocalRBFKernel, Mapped, Warp
from pliant.methods.side_information.kernels import LogDetKernel
from pliant.methods.side_information.neighbor_graph import NeighborGraphKernel, SpectralKernel
from pliant.methods.tessellated.generalized_kernel import (
    GeneralizedKernel,
    GeneralizedPolynomial,
    QuadratureKernel,
)
from pliant.methods.tessellated.tessellated_kernel import TessellatedKernel

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
