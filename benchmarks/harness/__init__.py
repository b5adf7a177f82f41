"""The machinery: what is to be measured, measuring it, and writing down what came out."""
