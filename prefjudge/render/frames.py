"""DataFrames for users: the one place where records become pandas."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from prefjudge.evaluation.comparing.winratio import WinRatios
from prefjudge.render.text.tables import Table, to_records

if TYPE_CHECKING:
    from pandas import DataFrame as DataFrame


def to_frame(table: Table) -> "DataFrame":
    """Return the rows of any table, one column for each of its columns, values at full precision.

    What the table was made from is in ``frame.attrs["provenance"]``.
    """
    from pandas import DataFrame

    frame = DataFrame(to_records(table), columns=[column.name for column in table.columns])
    frame.attrs["title"] = table.title
    frame.attrs["provenance"] = dict(table.provenance)
    return frame


def winratio_frame(result: WinRatios, provenance: Mapping[str, str] | None = None) -> "DataFrame":
    """Return the square matrix of win ratios: how often the column beats the row.

    What it was made from is in ``frame.attrs["provenance"]``.
    """
    from pandas import DataFrame, Index

    runs = Index(result.runs)
    frame = DataFrame(result.matrix().ratio, index=runs, columns=runs)
    frame.attrs["provenance"] = dict(provenance or {})
    return frame
