"""Differentially private histograms that add up."""

__version__ = "0.1.0"
