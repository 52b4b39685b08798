"""One module an engine: the few lines that narwhals has no words for."""
