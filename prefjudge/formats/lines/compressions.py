"""How files may be compressed."""

COMPRESSIONS = {
    "gz": b"\x1f\x8b",
    "bz2": b"BZh",
    "zst": b"\x28\xb5\x2f\xfd",
    "lz4": b"\x04\x22\x4d\x18",
}
"""The usual suffix of each form of compression, and the bytes with which such a file starts."""
