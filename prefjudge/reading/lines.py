"""Lines: the bytes of a file as blocks of whole lines, wherever it lies and however it is packed."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from bz2 import BZ2Decompressor
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from io import BytesIO, FileIO, RawIOBase, TextIOWrapper
from itertools import chain, islice, pairwise
from os import fspath, fstat
from pathlib import Path, PurePath
from typing import Any, BinaryIO, Literal, Protocol

import numpy as np
from isal import igzip_lib
from zstandard import ZstdDecompressor

from prefjudge.errors import ConfigError, InputError, PrefjudgeError
from prefjudge.reading.files import (
    BEIR_QRELS,
    COMPRESSIONS,
    PACKED_PARQUET,
    PARQUET,
    Notice,
    bare,
    compression,
    foreign_bytes,
    foreign_columns,
    foreign_text,
    is_remote,
    is_skipped,
)
from prefjudge.registers import Register

PREFIX = "irds:"
ALLOWED = "PREFJUDGE_DOWNLOAD"
"""The environment variable that allows downloads."""
_BATCH = 4096

_WORDS = {"docs": "documents", "scoreddocs": "scored documents, as a run is made of"}
Part = Literal["docs", "queries", "qrels", "scoreddocs"]
"""What a dataset may have, in the words of ir_datasets."""


def is_dataset(path: str | Path) -> bool:
    """Return whether a path names a dataset of ir_datasets."""
    return fspath(path).startswith(PREFIX)


@contextmanager
def downloads_allowed(*, allowed: bool) -> Iterator[None]:
    """Allow downloads meanwhile, also to the processes that are started."""
    before = os.environ.get(ALLOWED)
    if allowed:
        os.environ[ALLOWED] = "1"
    try:
        yield
    finally:
        if allowed and before is None:
            os.environ.pop(ALLOWED, None)
        elif allowed and before is not None:
            os.environ[ALLOWED] = before


def may_download() -> bool:
    """Return whether downloads are allowed."""
    return os.environ.get(ALLOWED, "").lower() not in ("", "0", "false", "no")


def size_of(count: int | None) -> str:
    """Return a size in words."""
    return "of unknown size" if count is None else f"{count / 1e6:,.1f} MB"


def version() -> str:
    """Return which ir_datasets is installed: the digest of what it gives."""
    from importlib.metadata import version

    return f"ir_datasets:{version('ir_datasets')}"


def dataset_lines(path: str, part: Literal["qrels", "scoreddocs"]) -> Iterator[bytes]:
    """Yield the lines of a dataset's qrels, or of its run, in pieces.

    Raises
    ------
    InputError
        There is no such dataset, it has none, or it would have to be downloaded.
    """
    write = _qrel if part == "qrels" else _scored
    entries = dataset_entries(path, part)
    while piece := list(islice(entries, _BATCH)):
        yield "".join(map(write, piece)).encode("utf-8", "surrogatepass")


def _qrel(entry: Any) -> str:
    return f"{_word(entry.query_id)} 0 {_word(entry.doc_id)} {entry.relevance}\n"


def _scored(entry: Any) -> str:
    # there are no ranks, and an order by them is refused for a rank that is not a number
    return f"{_word(entry.query_id)} Q0 {_word(entry.doc_id)} - {entry.score}\n"


def _word(name: str) -> str:
    if name.split() != [name]:
        raise InputError(f"the id {name!r} is empty or holds a blank", "No file of columns can hold it.")
    return name


def dataset_entries(path: str, part: Part) -> Iterator[Any]:
    """Yield the queries, qrels or scored documents of a dataset, as ir_datasets' records."""
    dataset = _dataset(path, part)
    with _asking(path):
        yield from getattr(dataset, f"{part}_iter")()


def dataset_documents(path: str, doc_ids: list[str]) -> Mapping[str, Any]:
    """Return documents of a dataset by id, from its store: it is built the first time, and then no scan."""
    dataset = _dataset(path, "docs")
    with _asking(path):
        found: Mapping[str, Any] = dataset.docs_store().get_many(doc_ids)
        return found


def is_scored(path: str) -> bool:
    """Return whether a dataset has a run; one that cannot be opened is left to who reads it."""
    try:
        return _dataset(path, "scoreddocs") is not None
    except PrefjudgeError:
        return False


def _dataset(path: str, part: Part) -> Any:
    try:
        import ir_datasets
    except ImportError:
        raise ConfigError(
            f"{path} is a dataset of ir_datasets, which is not installed",
            "Install it with the extra: pip install 'prefjudge[irds]'",
        ) from None
    name = fspath(path).removeprefix(PREFIX)
    try:
        with _asking(path):
            dataset = ir_datasets.load(name)
    except KeyError:
        from difflib import get_close_matches

        close = get_close_matches(name, list(ir_datasets.registry), 3)
        hint = f"Was one of these meant? {', '.join(PREFIX + one for one in close)}. " if close else ""
        raise InputError(
            f"ir_datasets knows no dataset {name!r}", f"{hint}It lists them: ir_datasets list"
        ) from None
    if not dataset.has(part):
        below = [one for one in ir_datasets.registry if one.startswith(f"{name}/")]
        having = [one for one in below if ir_datasets.registry[one].has(part)][:5]
        hint = f"Parts of it have: {', '.join(PREFIX + one for one in having)}." if having else "Give a file."
        raise InputError(f"{path} has no {_WORDS.get(part, part)}", hint)
    return dataset


@contextmanager
def _asking(path: str) -> Iterator[None]:
    """Let ir_datasets download only what is allowed, and turn its errors into ours.

    It has no such setting: the method that downloads is replaced meanwhile.
    """
    from ir_datasets.util import LocalDownload
    from ir_datasets.util.download import Download

    kept = {name: getattr(Download, name) for name in ("path", "stream")}

    def guarded(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            here = self._cache_path is not None and Path(self._cache_path).exists()
            local = any(
                isinstance(one, LocalDownload) and one.path(force=False).exists() for one in self.mirrors
            )
            asked = args[0] if args else kwargs.get("force", True)
            if asked and self._path is None and not (here or local or may_download()):
                raise _refusal(path, self)
            return method(self, *args, **kwargs)

        return call

    for name, method in kept.items():
        setattr(Download, name, guarded(method))
    try:
        yield
    except (PrefjudgeError, GeneratorExit, KeyError):
        raise
    except Exception as error:  # whatever a reader of one of its hundred formats may raise
        raise InputError(
            f"{path} cannot be read: {type(error).__name__}: {' '.join(str(error).split())[:300]}",
            "Check that this machine reaches where it is given away, or see its page: https://ir-datasets.com.",
        ) from error
    finally:
        for name, method in kept.items():
            setattr(Download, name, method)


def _refusal(path: str, download: Any) -> InputError:
    urls = [url for one in download.mirrors if (url := getattr(one, "url", None))]
    if not urls:  # it is given away on request only
        said = [getattr(one, "_message", None) for one in download.mirrors]
        return InputError(f"{path} cannot be downloaded", next(filter(None, said), "Ask its publisher."))
    terms = f" Its terms: {' '.join(download.dua.split())}" if download.dua else ""
    return InputError(
        f"{path} is not on this machine: {urls[0]} would be downloaded ({size_of(download._size_hint)})",
        f"Allow it: --dataset download, or {ALLOWED}=1 in the environment.{terms}",
    )


# Line ends: LF and CRLF end a line; a CR alone does so in files of columns, and in files that have no LF.
#
# Programs of the old Macintosh wrote CR alone, and files that were put together may hold a few. In a
# passage a CR may be text, so files of texts keep it, unless it is all that can end their lines.

_ALONE = re.compile(rb"(?<!\r)\r++(?!\n)")
"""CRs that no LF follows. It looks at each byte once: such a run may be as long as the file."""

ALONE = "lines end in a CR alone, which is read as the end of a line"
"""What a reader says of it."""


def has_lone_cr(data: bytes) -> bool:
    """Tell whether a CR stands without an LF behind it."""
    if b"\r" not in data:  # memchr; bytes.count walks byte by byte, and costs a verified run 5 % of its time
        return False
    return data.count(b"\r") != data.count(b"\r\n") and _ALONE.search(data) is not None


def with_newlines(data: bytes) -> bytes:
    """Return the same text with an LF for each lone CR."""
    return _ALONE.sub(lambda found: b"\n" * len(found[0]), data)


# Members: where the independent stretches of a compressed file start, found without unpacking it.
#
# BGZF (gzip as bgzip writes it) says in each member how long it is, and so does each frame and block of
# zstd. Members of other gzip do not: where one ends is known only once it is unpacked.

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


# Parts: stretches of one file, cut where the first word of a line changes, to be read side by side.

PART = 64 << 20
"""Bytes of a part, about: a file of less than two is not cut."""
_WORD = 1 << 10
"""Bytes in which the first word of a line must end."""
_LOOK = 1 << 16
"""Bytes that are looked at to find where a query ends."""
_MOST = 4 << 20
"""Bytes after which that search is given up: a file of so long queries has fewer, larger parts."""


class FilePart(str):
    """The path of a file of which a part is read: from ``start`` to ``end``."""

    start: int
    end: int

    def __new__(cls, path: str, start: int = 0, end: int = 0) -> FilePart:
        """Make the path of a part; pickle sets its places afterwards."""
        part = super().__new__(cls, path)
        part.start, part.end = start, end
        return part


class PackedPart(FilePart):
    """The same of a compressed file: whole members, in which queries are cut."""


class PartFile(RawIOBase):
    """The bytes of a part, read from a file that is open."""

    def __init__(self, file: BinaryIO, part: FilePart) -> None:
        self._file, self._left = file, part.end - part.start
        file.seek(part.start)

    def read(self, size: int = -1, /) -> bytes:
        """Return up to ``size`` bytes, and at the end of the part none."""
        piece = self._file.read(self._left if size < 0 else min(size, self._left))
        if self._left and not piece:
            raise InputError("the file became shorter while it was read", "Wait until it is written.")
        self._left -= len(piece)
        return piece


def parts_of(path: str, size: int = PART) -> list[FilePart]:
    """Return the parts of a file, in which no query is cut as far as its lines stand together.

    None of a file that is small, or no file, or one long compressed stream.
    """
    file = Path(path)
    if not file.is_file() or (whole := file.stat().st_size) < 2 * size:
        return []
    with file.open("rb", buffering=0) as opened:
        handle = opened.fileno()
        packed = compression(opened.read(8))
        if packed:
            cuts: list[int | None] = [*members_of(handle, whole, size)]
        else:
            cuts = [_change_after(handle, place) for place in range(size, whole - size // 2, size)]
    places = sorted({0, *(cut for cut in cuts if cut is not None and cut < whole), whole})
    part = PackedPart if packed else FilePart
    return [part(path, start, end) for start, end in pairwise(places)] if len(places) > 2 else []


def _change_after(handle: int, place: int) -> int | None:
    """Return where, after a place in a plain file, a query starts; None where that is not to be found."""
    size = _LOOK
    while size <= _MOST:
        block = os.pread(handle, size, place)
        change = change_in(block)
        if change or change is None or len(block) < size:
            return place + change if change else None
        size *= 4
    return None


def change_in(block: bytes) -> int | None:
    """Return where the first word of a line differs from that of the line that starts next.

    0 where no line of the block does; None where the lines are not those of a plain run.
    """
    first = block.find(b"\n") + 1
    if not first or len(block) < first + _WORD:
        return 0
    words = block[first : first + _WORD].split(None, 1)
    # With the newline before it and the blank behind it: "q1" must not take in the lines of "q10".
    mark = b"\n" + block[first : first + len(words[0]) + 1] if len(words) > 1 else b""
    if len(mark) < 3 or mark[-1:] not in (b" ", b"\t"):
        return None
    last = first - 1
    while block.startswith(mark, last) and (after := block.find(b"\n", last + 1)) >= 0:
        last = after
    return last + 1 if last + len(mark) <= len(block) and not block.startswith(mark, last) else 0


def stitched(own: Iterator[bytes], beyond: Iterator[bytes], *, first: bool) -> Iterator[bytes]:
    """Yield the queries that start in the text of some members, the last one to its end in those after it.

    Members end anywhere. So a part starts where the query changes after its first whole line, and ends where
    the query changes after the first whole line beyond it: where the next part starts.
    """
    pieces = chain(own, [_until_change(beyond)])
    if first:
        yield from pieces
        return
    held = bytearray()
    change = looked = 0
    for piece in pieces:
        held += piece
        if len(held) >= 2 * looked:  # a long query is not looked through again for each piece
            looked = len(held)
            change = _sure_change(held)
            if change:
                break
    change = change or _sure_change(held)
    if change:
        yield bytes(held[change:])
        yield from pieces


def _until_change(stream: Iterator[bytes]) -> bytes:
    held = bytearray()
    looked = 0
    for piece in stream:
        held += piece
        if len(held) >= 2 * looked:
            looked = len(held)
            if change := _sure_change(held):
                return bytes(held[:change])
    return bytes(held[: _sure_change(held) or None])


def _sure_change(held: bytearray) -> int:
    change = change_in(bytes(held))
    if change is None:
        raise InputError("the members cannot be cut between queries", "Read the file as one.")
    return change


# Readers: formats of runs, qrels and judgments other than lines of columns, by the file's suffix.
#
# A reader turns a file into lines of columns, and everything else follows: checks, orders, copies,
# clusters. So a new format is one file and its registration.

Reader = Callable[[str, Iterator[bytes]], Iterator[bytes]]
"""Takes the path, for messages, and the file's unpacked bytes; yields lines of columns, both in pieces."""

READERS: Register[Reader] = Register(
    "reader",
    Callable,
    {
        "json": "prefjudge.reading.runs.parquet:read_json",
        "jsonl": "prefjudge.reading.runs.parquet:read_json_lines",
        "parquet": "prefjudge.reading.runs.parquet:read_parquet",
        "lz4": "prefjudge.reading.runs.parquet:read_lz4",
        "csv": "prefjudge.reading.runs.parquet:read_csv",
    },
)
"""The readers, by the suffix that a file has before that of its compression."""

_COLUMNS = frozenset({"txt", "run", "trec", "tsv", "res", "input", "qrels", "qrel"})
"""Usual suffixes of files that need no reader."""


def stem(path: str | Path) -> str:
    """Return a file's name without what says how it is stored."""
    name = PurePath(bare(path).removeprefix(PREFIX))
    while name.stem and _says_how_it_is_stored(_last_suffix(name)):
        name = PurePath(name.stem)
    return name.name


def _says_how_it_is_stored(suffix: str) -> bool:
    return suffix in _COLUMNS or suffix in COMPRESSIONS or suffix in READERS


def has_reader(path: str | Path) -> bool:
    """Return whether a file has a reader; else it holds lines of columns already, as far as its name says."""
    return suffix_of(path) in READERS


def read_columns(path: str, data: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines of columns that a file's reader makes of its bytes."""
    name = suffix_of(path)
    with READERS.using(name):
        yield from READERS[name](path, data)


def suffix_of(path: str | Path) -> str:
    """Return the suffix that a file has before that of its compression, without the dot."""
    name = PurePath(bare(path))
    last = _last_suffix(name)
    if last not in COMPRESSIONS:
        return last
    inner = _last_suffix(PurePath(name.stem))
    return last if last in READERS and inner not in READERS else inner  # ranx keeps CBOR in NAME.lz4


def _last_suffix(name: PurePath) -> str:
    return name.suffix.lower().removeprefix(".")


# Blocks: the bytes of a file as blocks of whole lines, however it is compressed.
#
# The first bytes of a file say what it is, not its name. ``-`` is standard input.

BLOCK = 1 << 20
"""Bytes of text in a block: columns of it stay in the cache of a processor core."""

LONGEST = 64 << 20
"""Bytes of the longest line, and of a text that is read whole: what is longer is not what it seems."""

_PIECE = 64 << 10
"""Bytes that are read at once: larger pieces would each be given fresh memory by the system."""
_PACKED_PIECE = 16 << 10
"""Bytes that are unpacked at once: what they become is small enough for the memory that is at hand."""
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines of a file: the last byte is a newline. ``line`` is the number of the first, from 1."""

    data: bytes
    line: int


class Holds(Enum):
    """What the lines of a file hold, which says what may end them."""

    COLUMNS = auto()
    """Words: a CR alone ends a line."""
    QRELS = auto()
    """The same, where a first line may name the columns, as BEIR's does: it is read as a comment."""
    TEXTS = auto()
    """An id and a text, in which a CR may stand: it ends lines where nothing else does."""


class Readable(Protocol):
    """What bytes are read from."""

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes, none at the end."""
        ...


class _Inflater(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def can_reread(path: str | Path) -> bool:
    """Tell whether a file can be read twice: a pipe cannot."""
    return is_remote(path) or Path(path).is_file()


def is_compressed(path: str | Path) -> bool:
    """Tell whether a file is unpacked while it is read; pipes are not looked into."""
    if not can_reread(path):
        return False
    with opened(path) as file:
        return bool(compression(file.read(8)))


def is_slow(path: str | Path) -> bool:
    """Tell whether a file is fetched or unpacked while it is read: other work can be done meanwhile."""
    return is_remote(path) or is_compressed(path)


def _new_inflater(kind: str) -> _Inflater:
    if kind == "gz":
        return igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)  # type: ignore[no-any-return,unused-ignore]
    if kind == "bz2":
        return BZ2Decompressor()
    if kind == "lz4":
        return _lz4_inflater()
    return ZstdDecompressor().decompressobj()


def _lz4_inflater() -> _Inflater:
    try:
        from lz4.frame import LZ4FrameDecompressor
    except ImportError:
        raise ConfigError(
            "the file is compressed with LZ4, and the library that reads it is not installed",
            "Install it with the extra: pip install 'prefjudge[lz4]'",
        ) from None
    inflater: _Inflater = LZ4FrameDecompressor()
    return inflater


def _inflated(file: Readable, kind: str, path: str) -> Iterator[bytes]:
    """Yield the unpacked bytes of a file that may hold several compressed members."""
    inflater = _new_inflater(kind)
    fresh = False  # True between members
    while piece := file.read(_PACKED_PIECE):
        while piece:
            if fresh:
                if not piece.strip(b"\0"):  # padding that tape tools leave behind
                    break
                inflater, fresh = _new_inflater(kind), False
            try:
                text = inflater.decompress(piece)
            except Exception as error:  # each library has errors of its own
                raise InputError(
                    f"{path}: the {kind} data is damaged: {error}", "Copy or download the file again."
                ) from error
            if text:
                yield text
            piece = inflater.unused_data if inflater.eof else b""
            fresh = inflater.eof
    if not fresh:
        raise InputError(
            f"{path}: the {kind} data ends before its end",
            "Copy or download it again: the copy is incomplete.",
        )


@contextmanager
def opened(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file's raw bytes; a file that cannot be opened is an `InputError`."""
    name = fspath(path)
    if name == "-":
        yield sys.stdin.buffer
        return
    if is_remote(name):
        from prefjudge.reading.files import RemoteFile

        with RemoteFile(name) as remote:
            yield remote  # type: ignore[misc]
        return
    try:
        file = Path(name).open("rb", buffering=0)  # noqa: SIM115 - closed below
    except FileNotFoundError:
        raise InputError(
            f"{name}: there is no such file", "Check the path; quote patterns like 'runs/*'."
        ) from None
    except IsADirectoryError:
        raise InputError(f"{name} is a folder, not a file", f"Name the files in it: '{name}/*'") from None
    except OSError as error:
        raise InputError(f"{name} cannot be opened: {error.strerror}", "check its permissions") from error
    with file:
        yield PartFile(file, name) if isinstance(name, FilePart) else file  # type: ignore[misc]


def pieces(path: str | Path) -> Iterator[bytes]:
    """Yield the unpacked bytes of a file in pieces of no fixed size."""
    name = fspath(path)
    if isinstance(name, PackedPart):
        whole = Path(name).stat().st_size
        own, beyond = FilePart(name, name.start, name.end), FilePart(name, name.end, whole)
        yield from stitched(pieces(own), pieces(beyond), first=name.start == 0)
        return
    with opened(path) as file:
        head = file.read(_PIECE)
        while 0 < len(head) < 8 and (more := file.read(_PIECE)):  # a pipe may start with a drop
            head += more
        kind = compression(head)
        if kind:
            yield from _inflated(_Rejoined(head, file), kind, name)
            return
        # packed data tells where it ends, and a part knows its length
        left = fstat(file.fileno()).st_size if isinstance(file, FileIO) else 0
        while head:
            left -= len(head)
            yield head
            head = file.read(_PIECE)
        if left > 0:
            raise InputError(
                f"{name}: the file became shorter while it was read", "Wait until it is written."
            )


def columns(path: str | Path) -> Iterator[bytes]:
    """Yield the bytes of a file of columns, or those that a reader makes of another format."""
    if is_dataset(path):
        return dataset_lines(fspath(path), "scoreddocs")
    return read_columns(fspath(path), pieces(path)) if has_reader(path) else pieces(path)


class _Rejoined:
    """A file whose first bytes were already read."""

    def __init__(self, head: bytes, file: Readable) -> None:
        self._head, self._file = head, file

    def read(self, size: int, /) -> bytes:
        if self._head:
            piece, self._head = self._head[:size], self._head[size:]
            return piece
        return self._file.read(size)


def _check_text(path: str, head: bytes, holds: Holds) -> None:
    """Refuse what its first bytes tell to be something else."""
    other = foreign_text(head) if holds is Holds.TEXTS else foreign_columns(head)
    if holds is Holds.QRELS and other is BEIR_QRELS:
        return
    if found := foreign_bytes(head) or other:
        is_packed = found is PARQUET and (holds is Holds.TEXTS or is_compressed(path))
        raise InputError(*(PACKED_PARQUET if is_packed else found).words(path))


def read_text(path: str | Path) -> str:
    """Return a small file whole, without a byte order mark, and with a newline alone at the end of a line.

    Raises
    ------
    InputError
        It cannot be read, or is not UTF-8.
    """
    whole = BytesIO(b"".join(pieces(path)))
    try:
        return TextIOWrapper(whole, encoding="utf-8-sig").read()
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text", "Save it as UTF-8.") from None


def count_lines(data: bytes) -> int:
    """Return the number of newlines."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == 10))


def blocks(path: str | Path, holds: Holds, *, notices: list[Notice] | None = None) -> Iterator[Block]:
    """Yield what `whole_lines` yields, with the number of the first line."""
    line = 1
    for data in whole_lines(path, holds, notices=notices):
        yield Block(data, line)
        line += count_lines(data)


def whole_lines(
    path: str | Path, holds: Holds, *, size: int = BLOCK, notices: list[Notice] | None = None
) -> Iterator[bytes]:
    """Yield a text file as whole lines of about ``size`` bytes together, at least one.

    A byte order mark is dropped and noticed; so is a CR that ends a line alone, which becomes an LF. A file
    without any byte yields nothing.
    """
    kept: list[bytes] = []
    held = done = 0
    for piece in _text_pieces(fspath(path), holds, [] if notices is None else notices):
        held += len(piece)
        cut = piece.rfind(b"\n") + 1 if held >= size else 0
        if not cut:
            kept.append(piece)
            if held > size + LONGEST:
                start = done + _last_line(kept)
                raise InputError(
                    f"{path}: no line ends within {LONGEST >> 20} MB after byte {start:,}",
                    "End each line with a newline. Or is this another file than you meant?",
                )
            continue
        done += held - len(piece) + cut
        yield b"".join([*kept, memoryview(piece)[:cut]])
        kept, held = [piece[cut:]], len(piece) - cut
    rest = b"".join(kept)
    if rest:
        yield rest if rest.endswith(b"\n") else rest + b"\n"


def _last_line(pieces: Sequence[bytes]) -> int:
    """Return where the last line of the pieces begins."""
    start = sum(map(len, pieces))
    for piece in reversed(pieces):
        start -= len(piece)
        if (end := piece.rfind(b"\n")) >= 0:
            return start + end + 1
    return 0


def _text_pieces(name: str, holds: Holds, notices: list[Notice]) -> Iterator[bytes]:
    """Yield the pieces of a text without a byte order mark, and with the line ends that readers know."""
    if is_dataset(name) and holds is Holds.QRELS:
        stream = dataset_lines(name, "qrels")
    else:
        stream = pieces(name) if holds is Holds.TEXTS else columns(name)
    head = _head(stream)
    _check_text(name, head, holds)
    if head.startswith(_BOM):
        head = head[len(_BOM) :]
        notices.append(Notice(where=f"{name}:1", what="starts with a byte order mark, which is ignored"))
    if holds is Holds.QRELS and foreign_columns(head) is BEIR_QRELS:
        head = b"#" + head.lstrip()
    split, noticed = holds is not Holds.TEXTS or (b"\r" in head and b"\n" not in head), False
    waiting = b""  # a CR at the end of a piece: the next one may start with its LF
    for piece in chain([head], stream):
        if split:
            piece = waiting + piece if waiting else piece
            waiting = b"\r" if piece.endswith(b"\r") else b""
            piece = piece[:-1] if waiting else piece
            if has_lone_cr(piece):
                piece = with_newlines(piece)
                if not noticed:
                    noticed = True
                    notices.append(Notice(where=name, what=ALONE))
        yield piece
    if waiting:
        yield b"\n"


def _head(stream: Iterator[bytes]) -> bytes:
    """Return enough of a text to see what ends its first line: a pipe may come in drops."""
    head = b""
    while len(head) < _PIECE and b"\n" not in head and (piece := next(stream, b"")):
        head += piece
    return head


# Digests: what a file held, in a few letters.

_DIGEST_PIECE = 1 << 20


def digest(path: str | Path) -> str:
    """Return ``sha256:`` and the SHA-256 of a file's bytes as they are stored.

    Of an object that is fetched it is ``etag:`` and what the server calls its version, if it does: else every
    byte would be fetched again.
    """
    if is_remote(path):
        from prefjudge.reading.files import has_etag, version

        if has_etag(found := version(path)):
            return found
    state = hashlib.sha256()
    with opened(path) as file:
        while piece := file.read(_DIGEST_PIECE):
            state.update(piece)
    return f"sha256:{state.hexdigest()}"


def digest_of_content(path: str | Path) -> str:
    """Return the same of a file's unpacked bytes: a compressed copy has the digest of the original."""
    state = hashlib.sha256()
    for piece in pieces(path):
        state.update(piece)
    return f"sha256:{state.hexdigest()}"
