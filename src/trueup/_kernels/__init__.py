"""Arrays in, arrays out. Nothing here knows an axis, an ε or a question."""
