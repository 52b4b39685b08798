"""Leaves and hats: overlapping triangular windows."""
