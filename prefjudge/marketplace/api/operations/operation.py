"""What an operation is: checked parameters in, a result out, in one transaction and for one requester."""

from collections.abc import Callable
from typing import Any

from prefjudge.marketplace.store.marketplace import Transaction

Params = dict[str, Any]
Result = dict[str, Any]
Operation = Callable[[Transaction, str, Params], Result]
"""``operation(tx, requester_id, params)``"""
