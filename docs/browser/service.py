import datetime

import numpy as np
import onnxruntime

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1  # one row is less work than starting a thread
session = onnxruntime.InferenceSession("rentals.onnx", options)
texts = {each.name: each.type == "tensor(string)" for each in session.get_inputs()}


def predict(rows):
    """Return the predictions and the ends of their intervals; None is a missing cell."""
    columns = {}
    for name, is_text in texts.items():
        missing, dtype = ("", object) if is_text else (np.nan, np.float64)
        cells = [missing if row[name] is None else row[name] for row in rows]
        columns[name] = np.array(cells, dtype=dtype)
    return session.run(["predicted", "low", "high"], columns)


row = {
    "date": (datetime.date(2024, 7, 6) - datetime.date(1970, 1, 1)).days,
    "station": "Park",
    "area_code": 20103,
    "weather": "clear",
    "temperature": 24.5,
    "humidity": None,
    "wind": 8.0,
}
(predicted,), (low,), (high,) = predict([row])
print(f"{predicted:.2f} EUR, from {low:.2f} to {high:.2f}")
