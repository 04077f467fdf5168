"""The papers whose tables and figures ``reproduce`` makes: each is one list of exhibits."""
