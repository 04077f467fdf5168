"""What an operation is: checked parameters in, a result out, within one turn and for one requester."""

from collections.abc import Callable
from typing import Any

from prefjudge.marketplace.store.marketplace import Turn

Params = dict[str, Any]
Result = dict[str, Any]
Operation = Callable[[Turn, str, Params], Result]
"""``operation(turn, requester_id, params)``"""
