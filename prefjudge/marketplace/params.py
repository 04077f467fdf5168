"""What an operation is asked, as JSON: the wire protocol has checked its members, types and limits."""

from collections.abc import Mapping
from typing import Any

Params = Mapping[str, Any]
"""Parameters by Mechanical Turk's names."""
