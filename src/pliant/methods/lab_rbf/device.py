"""Where arrays live: NumPy on the processor, or PyTorch on the processor or a GPU.

NumPy and PyTorch have the same names for what the formulas of
`pliant.methods.lab_rbf.objective` need, so one text serves both: ``device.xp`` is the module,
``device.array`` brings numbers there and ``device.numpy`` brings them back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.core.typing import Array

__all__ = ["Device", "get_device"]


@dataclass(frozen=True)
class Device:
    """A place for arrays of one type.

    Attributes
    ----------
    xp : module
        ``numpy`` or ``torch``.
    dtype : object
        The module's own type of floating-point number.
    name : str or None
        PyTorch's name of the device; None for NumPy.
    """

    xp: Any
    dtype: Any
    name: str | None = None

    def array(self, values: Any) -> Any:
        """Return `values` as an array of this place."""
        if self.name is None:
            return np.ascontiguousarray(values, dtype=self.dtype)
        contiguous = np.ascontiguousarray(values, dtype=str(self.dtype).removeprefix("torch."))
        return self.xp.as_tensor(contiguous, device=self.name)

    def numpy(self, values: Any) -> Array:
        """Return an array of this place as a NumPy array, float64."""
        if self.name is not None:
            values = values.cpu().numpy()
        return np.asarray(values, dtype=np.float64)

    def double(self, values: Any) -> Any:
        """Return an array of this place in float64; itself if it is."""
        return values.astype(np.float64, copy=False) if self.name is None else values.double()

    def empty(self, *shape: int) -> Any:
        """Return an array of this place that holds anything."""
        if self.name is None:
            return np.empty(shape, dtype=self.dtype)
        return self.xp.empty(shape, dtype=self.dtype, device=self.name)


def get_device(name: str, dtype: str) -> Device:
    """Return the place that `name` stands for.

    Parameters
    ----------
    name : str
        "cpu" (NumPy), "cuda" or "cuda:N" (PyTorch on a GPU), "torch" (PyTorch on the processor).
    dtype : {"float32", "float64"}
        The numbers that it holds.

    Raises
    ------
    ImportError
        If PyTorch is needed and not installed.
    ValueError
        For another name, or a GPU that is not there.
    """
    if name == "cpu":
        return Device(np, np.dtype(dtype).type)
    if not re.fullmatch(r"torch|cuda(:\d+)?", str(name)):
        raise ValueError(f"expected device 'cpu', 'torch', 'cuda' or 'cuda:N', got {name!r}")
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
    return Device(torch, getattr(torch, dtype), "cpu" if name == "torch" else name)
