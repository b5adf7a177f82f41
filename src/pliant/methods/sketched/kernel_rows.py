"""Kernel values between blocks of rows and the centres, in float32 or float64, on any device.

Gaussians, and kernels that are made of them by scaling, choosing columns, adding and multiplying
(what LAB-RBF and MKL learn), are computed on the device. Any other kernel is evaluated by its own
code, in float64 on the CPU, and its values are copied.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from pliant.core.exponential import exponentials
from pliant.core.kernels.base import Kernel, Product, Rescaled, Scaled, Sum
from pliant.core.kernels.on import On
from pliant.core.kernels.standard import Gaussian
from pliant.core.kernels.weighted_sum import WeightedSum
from pliant.core.typing import Array

FARTHEST = {"float32": 100.0, "float64": 4.5e5}
"""Exponents up to this are computed by one product: their absolute errors stay below about 1e-5
and 1e-10. Beyond, the kernel's own code sums up the squared differences."""

Values: TypeAlias = Callable[[Array, Any], Any]
"""Returns the kernel values between rows and the centres; may use a given array for them."""


@dataclass(frozen=True)
class Device:
    """Where kernel values are computed: NumPy, or PyTorch on the CPU or a GPU.

    `xp` is the module ``numpy`` or ``torch``, `dtype` "float32" or "float64", and `name` PyTorch's
    name of the device; None for NumPy.
    """

    xp: Any
    dtype: str
    name: str | None = None

    def array(self, values: Any, *, copy: bool = False) -> Any:
        """Return `values` as an array on this device."""
        contiguous = np.array(values, dtype=self.dtype, order="C", copy=True if copy else None)
        return contiguous if self.name is None else self.xp.as_tensor(contiguous, device=self.name)

    def numpy(self, values: Any) -> Array:
        """Return an array on this device as a NumPy array, float64."""
        if self.name is not None:
            values = values.cpu().numpy()
        return np.asarray(values, dtype=np.float64)

    def empty(self, *shape: int) -> Any:
        """Return an uninitialised array on this device."""
        if self.name is None:
            return np.empty(shape, dtype=self.dtype)
        return self.xp.empty(shape, dtype=getattr(self.xp, self.dtype), device=self.name)

    def exponentials(self, values: Any) -> Any:
        """Replace values by the exponentials of their negative parts."""
        return exponentials(values) if self.name is None else values.clamp_(max=0.0).exp_()

    @property
    def itemsize(self) -> int:
        """Bytes of a number."""
        return int(np.dtype(self.dtype).itemsize)


def get_device(name: Any, dtype: str) -> Device:
    """Return a device by name: "cpu", "torch", "cuda", "cuda:N", or "auto".

    "auto" is the first GPU where PyTorch has one, else the CPU. Raises ImportError if PyTorch is
    needed and not installed, and ValueError for another name, or a GPU that is not there.
    """
    if name == "auto":
        name = "cuda" if _has_gpu() else "cpu"
    if name == "cpu":
        return Device(np, dtype)
    if not re.fullmatch(r"torch|cuda(:\d+)?", str(name)):
        raise ValueError(
            f"expected device 'auto', 'cpu', 'torch', 'cuda' or 'cuda:N', got {name!r}"
        )
    try:
        import torch
    except ImportError as error:
        raise ImportError(f"device={name!r} needs PyTorch: pip install 'pliant[torch]'") from error
    if name != "torch":
        index = int(name.partition(":")[2] or 0)
        if index >= torch.cuda.device_count():
            raise ValueError(
                f"expected a GPU for device={name!r}, got {torch.cuda.device_count()} of them"
            )
    return Device(torch, dtype, "cpu" if name == "torch" else name)


def _has_gpu() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


class KernelRows:
    """Kernel values between rows and centres.

    Parameters
    ----------
    kernel : Kernel
    centres : array of shape (m, d)
    device : Device
    """

    def __init__(self, kernel: Kernel, centres: Array, device: Device) -> None:
        self.kernel, self.centres, self.device = kernel, centres, device
        self._values: Values | None = None

    @property
    def width(self) -> int:
        """The number of centres."""
        return len(self.centres)

    def __call__(self, rows: Array, out: Any = None) -> Any:
        """Return k(rows, centres) on the device, shape (b, m); perhaps in `out`."""
        if self._values is None:
            self._values = _values(self.kernel, self.centres, self.device)
        return self._values(np.asarray(rows, dtype=np.float64), out)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is made at the first use, so that workers can be sent a copy."""
        return {**self.__dict__, "_values": None}


def _values(kernel: Kernel, centres: Array, device: Device) -> Values:
    """Return the function that computes a kernel between rows and the centres."""
    kind = type(kernel)
    if kind is Gaussian:
        return _Gaussian(kernel, centres, device)
    if kind is On:
        inner = _values(kernel.kernel, kernel._chosen(centres), device)
        return lambda rows, out: inner(kernel._chosen(rows), out)
    if kind is Rescaled:
        scaled = _values(kernel.kernel, kernel.rescale(centres), device)
        return lambda rows, out: scaled(kernel.rescale(rows), out)
    if kind is Scaled:
        return _sum([(float(kernel.scale), _values(kernel.kernel, centres, device))])
    if kind is WeightedSum:
        parts = [(weight, _values(part, centres, device)) for part, weight in kernel._used()]
        if parts:
            return _sum(parts)
    if kind is Sum or kind is Product:
        left, right = (_values(part, centres, device) for part in (kernel.left, kernel.right))
        if kind is Sum:
            return _sum([(1.0, left), (1.0, right)])
        return lambda rows, out: left(rows, out) * right(rows, None)
    # A copy: sums add to it, and the values may be the array of a user's function.
    return lambda rows, out: device.array(kernel._between_sets(rows, centres), copy=True)


def _sum(parts: list[tuple[float, Values]]) -> Values:
    """Return the function that computes a weighted sum."""

    def values(rows: Array, out: Any) -> Any:
        (weight, first), *others = parts
        total = first(rows, out)
        if weight != 1.0:
            total *= weight
        for weight, part in others:
            term = part(rows, None)
            if weight != 1.0:
                term *= weight
            total += term
        return total

    return values


class _Gaussian:
    """A Gaussian by one product: -gamma |x - y|^2 = (2 gamma x, -a, 1)'(y, 1, -b).

    a = gamma |x|^2 and b = gamma |y|^2, with the origin at the mean of the centres, for accuracy.
    """

    def __init__(self, kernel: Gaussian, centres: Array, device: Device) -> None:
        self._kernel, self._centres, self._device = kernel, centres, device
        self._gamma, shares = kernel._shares(centres.shape[1])
        self._factors = None if shares is None else np.sqrt(shares)
        scaled = self._scaled(centres)
        self._origin = scaled.mean(axis=0)
        scaled = scaled - self._origin
        sizes = self._sizes(scaled)
        self._reach = float(sizes.max(initial=0.0))
        self._right = device.array(np.vstack([scaled.T, np.ones_like(sizes), -sizes]))

    def __call__(self, rows: Array, out: Any) -> Any:
        if rows.shape[1] != self._centres.shape[1]:
            self._kernel._check_pair(self._centres, rows)
        left = np.empty((len(rows), rows.shape[1] + 2))
        moved = np.subtract(self._scaled(rows), self._origin, out=left[:, :-2])
        sizes = self._sizes(moved)
        if not max(self._reach, float(sizes.max(initial=0.0))) <= FARTHEST[self._device.dtype]:
            return self._device.array(self._kernel._between_sets(rows, self._centres))
        moved *= 2.0 * self._gamma
        np.negative(sizes, out=left[:, -2])
        left[:, -1] = 1.0
        product = self._device.xp.matmul(self._device.array(left), self._right, out=out)
        return self._device.exponentials(product)

    def _scaled(self, points: Array) -> Array:
        return points if self._factors is None else points * self._factors

    def _sizes(self, points: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(self._gamma * np.einsum("ij,ij->i", points, points))
