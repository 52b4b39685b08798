"""Sorted counts: isotonic fits, the walk over the Young diagram, bands, graphs."""
