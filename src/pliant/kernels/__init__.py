"""Given kernels, and their sums, products and compositions.

Learned kernels live with the methods that learn them, and are the attribute ``kernel_`` of a model.
"""

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
)
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
)

__all__ = [
    "KERNEL_NAMES",
    "TL1",
    "FunctionKernel",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Normalized",
    "On",
    "Polynomial",
    "Precomputed",
    "Product",
    "Rescaled",
    "Scaled",
    "Sigmoid",
    "Sum",
    "WeightedSum",
]

set_public_module(globals(), __all__)
