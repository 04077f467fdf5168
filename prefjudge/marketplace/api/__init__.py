"""The requester API: Mechanical Turk's protocol, its signatures and its 39 operations."""
