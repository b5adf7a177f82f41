"""Backend for large arrays: NumPy, or PyTorch (imported on demand) on the CPU or a GPU."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.core.typing import Array

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Device:
    """Backend and floating-point type of arrays.

    `xp` is ``numpy`` or ``torch``, which share most function names, and `dtype` is its
    floating-point type. `name` is the PyTorch device, or None for NumPy.
    """

    xp: ModuleType
    dtype: type[np.floating[Any]] | torch.dtype
    name: str | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the device by name and dtype, as modules cannot be pickled."""
        name = "torch" if self.name == "cpu" else self.name or "cpu"
        return get_device, (name, str(self.xp.finfo(self.dtype).dtype))

    @property
    def single(self) -> bool:
        """True if the floating-point type is float32."""
        return bool(self.dtype is self.xp.float32)

    def array(self, values: Any) -> Any:
        """Return `values` as a C-contiguous array on this device."""
        contiguous = np.asarray(values, np.float32 if self.single else np.float64, order="C")
        return contiguous if self.name is None else self.xp.as_tensor(contiguous, device=self.name)

    def numpy(self, values: Any) -> Array:
        """Return an array on this device as a NumPy array of float64."""
        return np.asarray(values if self.name is None else values.cpu().numpy(), np.float64)

    def double(self, values: Any) -> Any:
        """Return an array on this device as float64, without a copy if it is float64 already."""
        return values.astype(np.float64, copy=False) if self.name is None else values.double()

    def empty(self, *shape: int) -> Any:
        """Return an uninitialised array on this device."""
        place = {} if self.name is None else {"device": self.name}
        return self.xp.empty(shape, dtype=self.dtype, **place)


def get_device(name: Any, dtype: str) -> Device:
    """Return the device called `name`, with the dtype "float32" or "float64".

    "cpu" stands for NumPy, "torch" for PyTorch on the CPU, "cuda" or "cuda:N" for PyTorch on a GPU.
    """
    if name == "cpu":
        return Device(np, np.dtype(dtype).type)
    if not re.fullmatch(r"torch|cuda(:\d+)?", str(name)):
        raise ValueError(f"expected device='cpu', 'torch', 'cuda' or 'cuda:N', got {name!r}")
    try:
        import torch
    except ImportError as error:
        raise ImportError(f"device={name!r} needs PyTorch: pip install 'pliant[torch]'") from error
    count = torch.cuda.device_count()
    if name != "torch" and int(name.partition(":")[2] or 0) >= count:
        raise ValueError(f"device={name!r} needs a GPU that PyTorch can use, got {count} GPUs")
    return Device(torch, getattr(torch, dtype), "cpu" if name == "torch" else name)
