"""Files of tables: format, column kinds, encoding as numeric features, and predictions."""
