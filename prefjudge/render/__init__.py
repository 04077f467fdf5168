"""Render: results as tables, plots, pages and DataFrames."""
