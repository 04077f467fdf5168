"""Members: where the independent stretches of a compressed file start, found without unpacking it.

BGZF (gzip as bgzip writes it) says in each member how long it is, and so does each frame and block of zstd.
Members of other gzip do not: where one ends is known only once it is unpacked.
"""

import os

from prefjudge.formats.lines.compressions import is_skipped

_GZIP_EXTRA = b"\x1f\x8b\x08\x04"
_BGZF = b"\x06\0BC\x02\0"
_ZSTD = b"\x28\xb5\x2f\xfd"
_RLE = 1


def members_of(handle: int, whole: int, size: int) -> list[int]:
    """Return the starts of members, about ``size`` bytes apart; none of a file whose members say nothing."""
    head = os.pread(handle, 4, 0)
    following = {_GZIP_EXTRA: _after_gzip, _ZSTD: _after_zstd}.get(head)
    if following is None:
        return []
    starts, at = [0], 0
    while at < whole:
        after = following(handle, at)
        if after is None or after <= at or after > whole:
            return []
        at = after
        far = at - starts[-1] >= size and whole - at >= size // 2
        if far and os.pread(handle, 4, at) == head:  # not before what is skipped: a file starts with text
            starts.append(at)
    return starts


def _after_gzip(handle: int, at: int) -> int | None:
    head = os.pread(handle, 18, at)
    if len(head) < 18 or head[:4] != _GZIP_EXTRA or head[10:16] != _BGZF:
        return None
    return at + int.from_bytes(head[16:18], "little") + 1


def _after_zstd(handle: int, at: int) -> int | None:
    from zstandard import ZstdError, frame_header_size

    head = os.pread(handle, 18, at)
    if len(head) >= 8 and is_skipped(head):
        return at + 8 + int.from_bytes(head[4:8], "little")
    if head[:4] != _ZSTD:
        return None
    try:
        place = at + int(frame_header_size(head))
    except ZstdError:
        return None
    while len(block := os.pread(handle, 3, place)) == 3:
        # 1 bit: the last block; 2 bits: its kind; 21 bits: its size, of which a repeated byte stores one.
        bits = int.from_bytes(block, "little")
        place += 3 + (1 if bits >> 1 & 3 == _RLE else bits >> 3)
        if bits & 1:
            return place + (4 if head[4] & 4 else 0)  # a checksum
    return None
