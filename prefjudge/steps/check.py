"""Checks runs, qrels, judgments and texts before they are used, and collections against their lists."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, Unpack

import numpy as np
from annotated_types import Ge

from prefjudge.core.copies import copies_in
from prefjudge.core.pools import find_rows
from prefjudge.core.runs import Names, Order, OrderLike, Qrels
from prefjudge.errors import InputError
from prefjudge.reading.files import Notice, Problems, decode, paths_of
from prefjudge.reading.given import expand, given_file, several
from prefjudge.reading.inputs import OneLabelSet, Texts, maybe, take_one_qrels, take_texts
from prefjudge.reading.labels import read_judgments, read_qrels
from prefjudge.reading.lines import Holds, blocks
from prefjudge.reading.manifest import FoundFile, find_listed, read_manifest
from prefjudge.reading.opened import (
    copies_labelled,
    heads_beside_each_other,
    qrels_surprises,
    reading,
    run_surprises,
    working,
)
from prefjudge.reading.options import TextOptions, text_fields
from prefjudge.reading.runs.heads import each_run
from prefjudge.reading.runs.health import RunHealth, identical_runs
from prefjudge.reading.runs.parquet import is_parquet
from prefjudge.reading.sniffing import Sniffed, sniff
from prefjudge.reading.texts.collections import read_texts
from prefjudge.reading.texts.records import Reading
from prefjudge.reading.texts.texts import read_queries, read_records, readable
from prefjudge.show.results import Screen, Shown, first_few
from prefjudge.words import many, told

_CHECKED = ("run", "qrels", "judgments", "texts")

CheckedKind = Literal["auto", "run", "qrels", "judgments", "texts"]

_MOST_IDS = 1_000_000
"""Of so many texts the ids are held, to find those that are there twice."""
_MOST_GRADES = 10
"""Labels are counted by grade where these are a scale."""
_MOST_RESULTS = 1_000_000
"""No run has more for a query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCheck:
    """One file: errors make it unusable, ``hint`` says how to fix them, warnings what in it may surprise.

    ``kind`` is ``run``, ``qrels``, ``judgments`` or ``texts`` (queries or a collection), or the name of
    another format, which is an error. ``health`` is there for a readable run file, ``counts`` for others.
    """

    path: str
    kind: str
    errors: tuple[str, ...]
    hint: str
    warnings: tuple[str, ...]
    health: RunHealth | None
    counts: dict[str, int]

    @told
    def ok(self) -> bool:
        """Whether the file can be used."""
        return not self.errors

    @property
    def words(self) -> str:
        """What it was read as, and how much it holds."""
        if self.health:
            run = self.health
            found = f"; tag {run.tag}"
            if run.relevant_first is not None:
                leads = many(run.relevant_first, "judged query", "judged queries")
                found += f"; a relevant document leads {leads}, is in the first {run.cutoff} of "
                found += f"{run.relevant_at_cutoff:,} and anywhere in {run.relevant_found:,}"
                if run.relevant_place is not None:
                    found += f", in half of these by place {run.relevant_place:g}"
            return f"{run.read_as}{found}"
        ones = {name: name.replace("queries", "query", 1).removesuffix("s") for name in self.counts}
        said = ", ".join(many(count, ones[name], name) for name, count in self.counts.items())
        if relevant := self.counts.get("relevant"):
            queries, alone = self.counts["queries"], self.counts["queries with one relevant"]
            said += f"; {relevant / queries:.2f} relevant a query"
            said += f", and {alone / queries:.1%} of the queries have one" if alone else ""
        return said


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CheckResult(Shown):
    """All files, the groups of runs that rank alike, and the files of a manifest."""

    files: tuple[FileCheck, ...]
    identical: tuple[tuple[str, ...], ...]
    manifest: tuple[FoundFile, ...]

    @told
    def ok(self) -> bool:
        """Whether every file can be used and none differs from its manifest."""
        return all(file.ok for file in self.files) and all(found.status != "wrong" for found in self.manifest)

    def screen(self) -> Screen:
        """Return which files cannot be used and why, and what may surprise in the others, by its cause."""
        found: list[str] = []
        for kind in dict.fromkeys(file.kind for file in self.files):
            files = [file for file in self.files if file.kind == kind]
            bad = [file for file in files if not file.ok]
            one, several = _NOUNS.get(kind, ("file", "files"))
            if len(files) == 1 and not bad:
                found.append(f"{files[0].path} is in order: {files[0].words}")
            elif not bad:
                found.append(f"{many(len(files), one, several)} in order")
            elif len(files) == 1:
                found.append(f"{files[0].path} cannot be used")
            else:
                found.append(f"{len(bad):,} of {many(len(files), one, several)} cannot be used")
            more = [f" (and {len(file.errors) - 1} more)" * (len(file.errors) > 1) for file in bad]
            found += first_few(
                [f"  error: {one.errors[0]}{rest}" for one, rest in zip(bad, more, strict=True)], 5
            )
            found += [f"  {line}" for line in dict.fromkeys(file.hint for file in bad[:5] if file.hint)]
        same = [", ".join(first_few(group, 5)) for group in self.identical]
        found += first_few([f"runs with the same ranking: {names}" for names in same], 3)
        if self.manifest:
            states = Counter(one.status for one in self.manifest)
            counts = f"{states['ok']:,} ok, {states['wrong']:,} wrong, {states['absent']:,} absent"
            found.append(f"of {many(len(self.manifest), 'listed file')} {counts}")
            wrong = [
                f"  {one.status}: {one.name}{': ' * bool(one.problems)}{'; '.join(one.problems)}"
                for one in self.manifest
                if one.status != "ok"
            ]
            found += first_few(wrong, 10)
        return Screen(found=tuple(found), sure=first_few(self._by_cause(), 7))

    def _by_cause(self) -> list[str]:
        """Return the warnings, one line a cause: in how many files, and what one of them says."""
        causes: dict[str, list[tuple[FileCheck, str]]] = {}
        for file in self.files:
            for text in file.warnings:
                words = text.removeprefix(f"{file.path}: ")
                cause = re.sub(r"'[^']*'|\([^)]*\)|\b\d[\d,.]*%?", "#", words)
                causes.setdefault(_SINGULAR.sub(" queries have ", cause), []).append((file, words))
        several = len(self.files) > 1
        return [
            f"note: {words}"
            if not several
            else f"note: {len(among)} files, such as {Path(file.path).name}: {words}"
            if len(among) > 1
            else f"note: {Path(file.path).name}: {words}"
            for among in sorted(causes.values(), key=len, reverse=True)
            for file, words in [max(among, key=lambda one: _size_of(one[1]))]
        ]


_NOUNS = {
    "run": ("run", "runs"),
    "qrels": ("file of qrels", "files of qrels"),
    "judgments": ("file of judgments", "files of judgments"),
    "texts": ("file of texts", "files of texts"),
}
_SINGULAR = re.compile(" query has ")


def _size_of(words: str) -> int:
    """Return the first number of a warning, which says how much it is about."""
    found = re.search(r"\d[\d,]*", words)
    return int(found[0].replace(",", "")) if found else 0


def check(
    files: str | Path | Sequence[str | Path],
    *,
    kind: CheckedKind = "auto",
    qrels: OneLabelSet | None = None,
    queries: Texts | None = None,
    collection: Texts | None = None,
    candidates: str | Path | None = None,
    cutoff: Annotated[int, Ge(1)] = 10,
    order: OrderLike | None = None,
    workers: Annotated[int, Ge(1)] | Executor | None = 1,
    manifest: str | Path | None = None,
    **how: Unpack[TextOptions],
) -> CheckResult:
    """Check files line by line, and warn of what may surprise.

    It takes files only: data in memory is checked where a function takes it.

    Parameters
    ----------
    files : sequence of paths or patterns
        Run, qrels, judgments or text files, or folders of them; with ``manifest``, one folder.
    kind : {'auto', 'run', 'qrels', 'judgments', 'texts'}
        What the files are; ``auto`` looks at their first lines, and names other formats that it recognizes.
    qrels : Path, optional
        Judged documents: adds Judged@cutoff and the queries that a run should have.
    queries : Path, optional
        The queries that a run should have.
    collection : Path, optional
        The texts of the passages: says which copies of a text have different labels in qrels.
    candidates : Path, optional
        What a run may hold that re-ranks: a run, or lines of query, document and texts, between tabs.
    cutoff : int
        The depth at which ties and judged documents matter.
    order : Order, optional
        What ranks a document higher.
    workers : int or Executor, optional
        How many processes check files side by side, as in `ReadOptions`.
    manifest : str or Path, optional
        The list of files that the folder should contain: ``trec-dl-2020``, or a TOML file.
    **how
        How the queries and the collection are read: the words of `TextOptions`.

    Raises
    ------
    InputError
        No file is named, or the qrels, queries or manifest cannot be read. A bad file is a result, not an
        error.
    """
    files = several(files)
    if not files:
        raise InputError("check needs a file", "Run, for instance: prefjudge check run.gz --qrels FILE")
    if manifest is not None:
        return CheckResult(files=(), identical=(), manifest=_against(str(manifest), files))
    qrels = given_file(maybe(take_one_qrels, qrels), "qrels")
    queries = given_file(maybe(take_texts, queries), "queries")
    collection = given_file(maybe(take_texts, collection), "collection")
    judged = read_qrels(qrels, fractions=True) if qrels else None
    expected = tuple(read_queries(queries, fields=text_fields(how))) if queries else None
    paths = expand(files)
    work = partial(
        _check_file,
        kind=kind,
        qrels=judged,
        queries=expected,
        collection=partial(read_texts, collection, fields=text_fields(how)) if collection else None,
        only=partial(_beside_candidates, _read_candidates(candidates)) if candidates else None,
        cutoff=cutoff,
        order=Order(order or Order.SCORE),
    )
    with working(workers, paths) as executor:
        checked = tuple(each_run(work, paths_of(paths), executor))
    if candidates and not any(file.kind == "run" for file in checked):
        raise InputError("--candidates are those that a run re-ranks, and no run is given", "Name the run.")
    runs = [file.health for file in checked if file.health]
    return CheckResult(files=checked, identical=tuple(identical_runs(runs)), manifest=())


def _against(manifest: str, files: Sequence[str | Path]) -> tuple[FoundFile, ...]:
    listed = read_manifest(manifest)
    if len(files) != 1 or not Path(files[0]).is_dir():
        raise InputError(
            "a manifest is checked against one folder", f"Give, for instance: --manifest {manifest} DIR"
        )
    return tuple(find_listed(Path(files[0]), one) for one in listed)


def _sniffed(path: str | Path, asked: str) -> Sniffed:
    """Return what a file is: what the user says, or what its first lines look like."""
    if asked != "auto" and asked not in _CHECKED:
        raise InputError(f"{asked!r} is not a kind of file", "Choose auto, run, qrels, judgments or texts.")
    return sniff(path) if asked == "auto" else Sniffed(kind=asked)


def _count_texts(path: str, notices: list[Notice]) -> int:
    """Read queries or a collection, and return how many texts it holds."""
    count, lines = 0, dict[bytes, int]()
    with Problems(path, "file of texts") as problems:
        for record in read_records(Reading(problems=problems, notices=notices)):
            count += 1
            readable(record.text, f"{path}:{record.line}", notices)
            before = lines.setdefault(record.name, record.line) if count <= _MOST_IDS else record.line
            if before != record.line:
                what = f"the id is also on line {before}"
                problems.add(record.line, 1, what, record.name, "Give each id one line only.")
    return count


def _read_candidates(path: str | Path) -> Qrels:
    """Read the candidates that a track gives to re-rank."""
    if sniff(path).kind == "run":
        with reading([path], Order.SCORE, []) as reader:
            held = reader.top(_MOST_RESULTS)
        return Qrels.all_relevant("candidates", held.queries, held.docs, held.query, held.doc)
    queries, docs, parts = Names(), Names(), [np.zeros((2, 0), np.int32)]
    with Problems(str(path), "file of candidates") as problems:
        for block in blocks(path, Holds.TEXTS):
            rows = [(number, line.split(b"\t", 2)) for number, line in block.lines()]
            for number in [number for number, cells in rows if len(cells) < 2]:
                problems.add(number, 1, "there is no tab", b"", "Write each line as: query, tab, document.")
            of_query, of_doc = (
                [decode(cells[place].strip()) for _, cells in rows if cells[1:]] for place in (0, 1)
            )
            parts.append(np.stack([queries.encode(of_query), docs.encode(of_doc)]))
    query, doc = np.concatenate(parts, axis=1)
    return Qrels.all_relevant("candidates", tuple(queries), tuple(docs), query, doc)


def _beside_candidates(candidates: Qrels, path: str | Path) -> list[str]:
    """Refuse a run that holds more than the candidates; return which of them it leaves out."""
    with reading([path], Order.SCORE, []) as reader:
        held = reader.top(_MOST_RESULTS)
    row = find_rows(candidates, held.queries, held.docs, held.query, held.doc)
    others = np.flatnonzero(row < 0)
    if others.size:
        query, doc = held.queries[held.query[others[0]]], held.docs[held.doc[others[0]]]
        of = many(np.unique(held.query[others]).size, "query")
        what = f"{many(others.size, 'result')} of {of} are no candidates, such as {doc!r} of query {query!r}"
        hint = "Re-rank the given candidates alone."
        if others.size == held.doc.size:
            hint = "Is it the right file of candidates? Each of its lines is: query, tab, document."
        raise InputError(f"{path}: {what}", hint)
    left = np.ones(candidates.doc.size, bool)
    left[row] = False
    if not left.any():
        return []
    of = many(np.unique(candidates.query[left]).size, "query")
    return [f"{int(left.sum()):,} of {many(left.size, 'candidate')} are in no place, of {of}"]


def _check_file(
    path: str | Path,
    kind: str,
    qrels: Qrels | None,
    queries: tuple[str, ...] | None,
    collection: Callable[[Sequence[str]], dict[str, str]] | None,
    only: Callable[[str | Path], list[str]] | None,
    cutoff: int,
    order: Order,
) -> FileCheck:
    from prefjudge.reading.runs.health import health

    sniffed = _sniffed(path, kind)
    asked = sniffed.kind
    notices: list[Notice] = []
    found, counts, warnings = None, {}, []
    try:
        if asked not in _CHECKED:
            raise InputError(sniffed.what, sniffed.way)
        if asked == "run" and is_parquet(path):
            with reading([path], order, notices) as reader:
                heads = reader.top(cutoff)
                if qrels is not None:
                    reader.judged(qrels)  # which says where they do not meet
            expected = queries or (qrels.queries if qrels else heads.queries)
            notices += heads_beside_each_other(heads, expected, cutoff)
            counts = {"runs": len(heads.runs), "queries": len(heads.queries)}
        elif asked == "run":
            found = health(path, qrels, queries, cutoff, order=order)
            notices += found.notices
            warnings = run_surprises(found)
            if only is not None:
                warnings += only(path)
        elif asked == "qrels":
            labels = read_qrels(path, fractions=True, notices=notices)
            relevant = np.bincount(labels.query[labels.grade >= 1], minlength=len(labels.queries))
            counts = {
                "queries": len(labels.queries),
                "documents": len(labels.docs),
                "labels": int(labels.grade.size),
                "relevant": int(relevant.sum()),
                "queries with one relevant": int((relevant == 1).sum()),
                "relevant in a query at most": int(relevant.max(initial=0)),
            }
            if 1 < (grades := np.unique(labels.grade)).size <= _MOST_GRADES:
                counts |= {f"of grade {one:g}": int((labels.grade == one).sum()) for one in grades}
            warnings = qrels_surprises(labels)
            if collection is not None:
                warnings += copies_labelled(labels, copies_in(collection(labels.docs)))
        elif asked == "texts":
            counts = {"texts": _count_texts(str(path), notices)}
        else:
            votes = read_judgments(path, notices=notices)
            counts = {"judgments": len(votes), "queries": len(votes.queries), "workers": len(votes.workers)}
    except InputError as error:
        return FileCheck(
            path=str(path),
            kind=asked,
            errors=error.problems or (error.message,),
            hint=error.hint,
            warnings=(),
            health=None,
            counts={},
        )
    if sniffed.doubt:
        warnings.insert(0, sniffed.doubt)
    said = tuple(dict.fromkeys([*map(str, notices), *(f"{path}: {text}" for text in warnings)]))
    return FileCheck(
        path=str(path), kind=asked, errors=(), hint="", warnings=said, health=found, counts=counts
    )
