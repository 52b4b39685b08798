"""Streams: counts that are published step after step, and trued up when they end."""

from trueup.stream.schedule import Schedule, mean_error
from trueup.stream.stream import Stream

__all__ = ["Schedule", "Stream", "mean_error"]
