"""The version of trueup, for whoever needs it below the package's own names."""

__version__ = "0.2.0"
