from pathlib import Path

from pliant import load, to_onnx

model = to_onnx(load("rentals.pliant"), coverage=0.8)
Path("rentals.onnx").write_bytes(model.SerializeToString())
print(*(column.name for column in model.graph.input))
