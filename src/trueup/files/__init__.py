"""Files: one table with all that explains it, written whole, read back by its kind."""
