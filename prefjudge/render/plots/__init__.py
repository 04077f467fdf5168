"""Plots: each result as a figure."""
