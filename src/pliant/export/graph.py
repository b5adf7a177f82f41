"""The nodes of an ONNX graph under construction."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from pliant._version import __version__

OUTPUTS = ("predicted", "low", "high", "label", "probabilities", "decision")
"""Names of outputs."""


class OnnxGraph:
    """Nodes, constants and outputs of an ONNX graph, with one floating-point type."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        try:
            self.helper: Any = import_module("onnx.helper")
            self.from_array: Any = import_module("onnx.numpy_helper").from_array
        except ImportError as error:
            need = f"to_onnx needs onnx ({error})"
            raise ImportError(f"{need}: pip install 'pliant[onnx]'") from error
        self.dtype = dtype
        self.inputs: list[Any] = []
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.outputs: list[Any] = []
        self._opsets = {"": 17}  # with IR version 8, it runs since 2022

    def add(self, operator: str, *inputs: str | npt.ArrayLike, **options: Any) -> str:
        """Add a node, and constants for the inputs that are arrays; return the node's output."""
        names = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        output = f"pliant/value_{len(self.nodes)}"  # no name of a column
        self.nodes.append(self.helper.make_node(operator, names, [output], **options))
        return output

    def constant(self, values: npt.ArrayLike) -> str:
        """Add a constant, and return its name."""
        name, array = f"pliant/constant_{len(self.constants)}", np.asarray(values)
        array = array.astype(self.dtype) if array.dtype.kind == "f" else array
        self.constants.append(self.from_array(array, name))
        return name

    def cast(self, value: str, dtype: Any) -> str:
        """Add the conversion of a value to a type."""
        return self.add("Cast", value, to=self.element(dtype))

    def element(self, dtype: Any) -> int:
        """Return the number of a type in ONNX."""
        return int(self.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def require(self, domain: str, version: int) -> None:
        """Require at least a version of a set of operators."""
        self._opsets[domain] = max(version, self._opsets.get(domain, 0))

    def add_input(self, name: str, dtype: np.dtype[Any]) -> str:
        """Add an input of shape (n_samples,), and return its name."""
        if name in OUTPUTS or name.startswith("pliant/"):
            raise ValueError(f"expected another name of a column for ONNX, got {name!r:.80}")
        self.inputs.append(self._describe(name, dtype))
        return name

    def add_output(self, name: str, value: str, *shape: int, dtype: Any = None) -> None:
        """Add an output whose rows have the given shape."""
        value = self.add("Reshape", value, np.array([-1, *shape]))
        self.nodes[-1].output[0] = name
        self.outputs.append(self._describe(name, dtype or self.dtype, *shape))

    def _describe(self, name: str, dtype: np.dtype[Any], *shape: int) -> Any:
        element = self.helper.np_dtype_to_tensor_dtype(dtype)
        return self.helper.make_tensor_value_info(name, element, ["n_samples", *shape])

    def build(self, n_features: int) -> Any:
        """Build the model; without other inputs, X has the shape (n_samples, n_features)."""
        inputs = self.inputs or [self._describe("X", self.dtype, n_features)]
        graph = self.helper.make_graph(self.nodes, "pliant", inputs, self.outputs, self.constants)
        opsets = [self.helper.make_opsetid(*each) for each in self._opsets.items()]
        options = {"producer_name": "pliant", "producer_version": __version__, "ir_version": 8}
        return self.helper.make_model(graph, opset_imports=opsets, **options)
