"""Counts for people to read: non-negative, whole, and still adding up."""
