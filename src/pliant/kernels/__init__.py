"""Kernels: functions of two sets of points, given or learned. Nothing is optimised here."""

from pliant.kernels.adaptive_matrix import AdaptiveMatrix
from pliant.kernels.base import FunctionKernel, Kernel
from pliant.kernels.compose import Centered, Normalized, Product, Rescaled, Scaled, Sum
from pliant.kernels.extension import batch_reciprocal_neighbors
from pliant.kernels.gaussian_process import GPKernel
from pliant.kernels.generalized import GeneralizedKernel
from pliant.kernels.hadamard import EXTENSIONS, HadamardKernel
from pliant.kernels.landmark import LandmarkKernel
from pliant.kernels.local import LocalRBFKernel
from pliant.kernels.logdet import LogDetKernel
from pliant.kernels.named import KERNEL_NAMES, as_kernel
from pliant.kernels.neighbor_graph import NeighborGraphKernel
from pliant.kernels.partitioned import PartitionedKernel
from pliant.kernels.polynomial import Linear, Polynomial
from pliant.kernels.precomputed import Precomputed
from pliant.kernels.quadrature import GeneralizedPolynomial, QuadratureKernel
from pliant.kernels.spectral import SpectralKernel
from pliant.kernels.stationary import TL1, Gaussian, Laplacian, Matern
from pliant.kernels.tessellated import BASES, TessellatedKernel
from pliant.kernels.warp import Warp

__all__ = [
    "BASES",
    "EXTENSIONS",
    "KERNEL_NAMES",
    "TL1",
    "AdaptiveMatrix",
    "Centered",
    "FunctionKernel",
    "GPKernel",
    "Gaussian",
    "GeneralizedKernel",
    "GeneralizedPolynomial",
    "HadamardKernel",
    "Kernel",
    "LandmarkKernel",
    "Laplacian",
    "Linear",
    "LocalRBFKernel",
    "LogDetKernel",
    "Matern",
    "NeighborGraphKernel",
    "Normalized",
    "PartitionedKernel",
    "Polynomial",
    "Precomputed",
    "Product",
    "QuadratureKernel",
    "Rescaled",
    "Scaled",
    "SpectralKernel",
    "Sum",
    "TessellatedKernel",
    "Warp",
    "as_kernel",
    "batch_reciprocal_neighbors",
]
