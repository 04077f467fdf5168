"""Events, and the notifications of them that are posted to requesters."""
