"""The same questions as one SQL text, for DuckDB and Spark."""
