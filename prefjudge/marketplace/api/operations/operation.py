"""What an operation is: checked parameters in, a result out, in one transaction and for one requester."""

from collections.abc import Callable, Mapping
from typing import Any

from prefjudge.marketplace.errors import Params as Params
from prefjudge.marketplace.store.store import Transaction

Result = Mapping[str, Any]
"""A response by Mechanical Turk's names; what is None is left out."""
Operation = Callable[[Transaction, str, Params], Result]
"""``operation(tx, requester_id, params)``"""
