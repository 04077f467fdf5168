"""How files may be compressed."""

COMPRESSIONS = {
    "gz": b"\x1f\x8b",
    "bz2": b"BZh",
    "zst": b"\x28\xb5\x2f\xfd",
    "lz4": b"\x04\x22\x4d\x18",
}
"""The usual suffix of each form of compression, and the bytes with which such a file starts."""

_SKIPPED = 0x184D2A5
"""The upper bits of the magic number of a frame of zstd that holds no text: pzstd starts with one."""


def is_skipped(head: bytes) -> bool:
    """Return whether a frame starts that holds no text, such as a seek table."""
    return len(head) >= 4 and int.from_bytes(head[:4], "little") >> 4 == _SKIPPED


def compression(head: bytes) -> str:
    """Return what the first bytes say: ``gz``, ``bz2``, ``zst``, ``lz4`` or nothing."""
    if is_skipped(head):
        return "zst"
    return next((kind for kind, start in COMPRESSIONS.items() if head.startswith(start)), "")
