"""Histograms for the terminal."""

from collections.abc import Mapping


def render_histogram(counts: Mapping[int, int], value: str, unit: str, width: int = 40) -> str:
    """Return a bar for each value, the longest ``width`` characters; a value that is missing has no bar.

    Parameters
    ----------
    counts : mapping of int to int
        How often each value occurs.
    value, unit : str
        What the values and the counts are.
    width : int
        The length of the longest bar.
    """
    if not counts:
        return f"{value}: none"
    most = max(counts.values())
    label = max(len(value), len(str(max(counts))))
    digits = len(f"{most:,}")
    lines = [f"{value:>{label}}  {unit}"]
    for size in range(min(counts), max(counts) + 1):
        count = counts.get(size, 0)
        eighths = round(8 * width * count / most) if count else 0
        bar = "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
        lines.append(f"{size:>{label}}  {count:>{digits},}  {bar}".rstrip())
    return "\n".join(lines)
