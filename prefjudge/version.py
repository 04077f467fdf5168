"""The version of prefjudge."""

__version__ = "0.1.0"
