import * as ort from "onnxruntime-web";

const session = await ort.InferenceSession.create("rentals.onnx");

/** Return a row of the model's columns as tensors; null is missing. */
function columns(row) {
  const tensors = {};
  for (const { name, type } of session.inputMetadata) {
    const cell = row[name];
    tensors[name] = type === "string"
      ? new ort.Tensor("string", [cell ?? ""], [1])
      : new ort.Tensor("float64", [cell ?? NaN], [1]);
  }
  return tensors;
}

const row = {
  date: Date.UTC(2024, 6, 6) / 86400000, // days since 1970
  station: "Park", area_code: 20103, weather: "clear",
  temperature: 24.5, humidity: null, wind: 8.0,
};
const { predicted, low, high } = await session.run(columns(row));
const [value, from, to] = [predicted, low, high].map((each) => each.data[0].toFixed(2));
console.log(`${value} EUR, from ${from} to ${to}`);
