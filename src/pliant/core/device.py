"""The place of large arrays: NumPy, or PyTorch on the CPU or a GPU, imported on demand."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from pliant.core.exponential import exponentials
from pliant.core.typing import Array


@dataclass(frozen=True)
class Device:
    """Arrays of one floating-point type.

    `xp` is the module, ``numpy`` or ``torch``, with mostly the same function names; `dtype` is its
    own floating-point type, and `name` PyTorch's device, None for NumPy.
    """

    xp: ModuleType
    dtype: Any
    name: str | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Return a recipe for pickle: modules cannot be sent to other processes."""
        name = "torch" if self.name == "cpu" else self.name or "cpu"
        return get_device, (name, str(self.xp.finfo(self.dtype).dtype))

    @property
    def single(self) -> bool:
        """True for float32."""
        return bool(self.dtype is self.xp.float32)

    def array(self, values: Any) -> Any:
        """Return `values` as an array on this device."""
        contiguous = np.asarray(values, np.float32 if self.single else np.float64, order="C")
        return contiguous if self.name is None else self.xp.as_tensor(contiguous, device=self.name)

    def numpy(self, values: Any) -> Array:
        """Return an array on this device as a NumPy array, float64."""
        if self.name is not None:
            values = values.cpu().numpy()
        return np.asarray(values, dtype=np.float64)

    def double(self, values: Any) -> Any:
        """Return an array on this device in float64; float64 is not copied."""
        return values.astype(np.float64, copy=False) if self.name is None else values.double()

    def empty(self, *shape: int) -> Any:
        """Return an uninitialised array on this device."""
        if self.name is None:
            return np.empty(shape, dtype=self.dtype)
        return self.xp.empty(shape, dtype=self.dtype, device=self.name)

    def exponentials(self, values: Any) -> Any:
        """Replace values by the exponentials of their negative parts."""
        return exponentials(values) if self.name is None else values.clamp_(max=0.0).exp_()


def get_device(name: Any, dtype: str) -> Device:
    """Return a device by name for "float32" or "float64".

    "cpu" is NumPy, "torch" PyTorch on the CPU, "cuda" or "cuda:N" PyTorch on a GPU. A missing
    PyTorch raises ImportError; another name, or a missing GPU, ValueError.
    """
    if name == "cpu":
        return Device(np, np.dtype(dtype).type)
    if not re.fullmatch(r"torch|cuda(:\d+)?", str(name)):
        raise ValueError(f"expected device 'cpu', 'torch', 'cuda' or 'cuda:N', got {name!r}")
    try:
        import torch
    except ImportError as error:
        raise ImportError(f"device={name!r} needs PyTorch: pip install 'pliant[torch]'") from error
    count = torch.cuda.device_count()
    if name != "torch" and int(name.partition(":")[2] or 0) >= count:
        raise ValueError(f"expected a GPU for device={name!r}, got {count} of them")
    return Device(torch, getattr(torch, dtype), "cpu" if name == "torch" else name)
