"""Tell whether the verbs still give the same bytes: JSON, CSV, pages, answers of the demo and of real runs.

    python scripts/same.py --keep     keeps what they give now, in .bench/same
    scripts/check same                compares: exit 1, and the first line that differs of each document

A change of a document that is wanted is named in its commit, and kept again. The real runs are those of
``../shared/data/dl21``, or where PREFJUDGE_DATA points; without them the demo alone is compared. Times,
names made by chance, digests and folders are no part of a document.
"""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import combinations, zip_longest
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / ".bench" / "same"
DATA = Path(os.environ.get("PREFJUDGE_DATA", ROOT.parent / "shared" / "data"))
CHANGING = [
    (re.compile(rb"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?( UTC|Z)?"), b"<time>"),
    (re.compile(rb'("(?:seconds|started|made|path|out|study|folder)": )("[^"]*"|[\d.]+)'), rb"\1<told>"),
    (re.compile(rb"(?m)^\w+: at work for \d+ s\n"), b""),
    (re.compile(rb"\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\b[0-9a-f]{64}\b|\b[0-9a-f]{12}\b"), b"<id>"),
]
DEMO = {
    "status": ("status", "study", "--json"),
    "check": ("check", "demo/collection/runs", "demo/collection/qrels.txt", "--json"),
    "resolve": ("resolve", "study", "--per-query", "--sensitivity", "--out", "out/demo.qrels", "--json"),
    "score": ("score", "study", "--per-query", "--json"),
    "compare": ("compare", "--study", "study", "--baseline", "lexical", "--json"),
    "stability": ("stability", "study", "--json"),
    "agreement": ("agreement", "study", "--json"),
    "winratio": ("winratio", "study", "--json"),
    "workers": ("workers", "study", "--json"),
    "plan": ("plan", "study", "--json"),
    "history": ("status", "study", "--history", "--json"),
    "report": ("report", "study", "--out", "out/report.html", "--tables", "csv", "out/tables"),
    "release": ("release", "study", "--runs", "--texts", "--out", "out/release", "--json"),
    "site": ("report", "study", "--site", "out/site"),
}
"""Commands on the demo's study, by the name of what they print; what they write is compared, too."""
NIST, RUNS, VOTES = "dl21/qrels-nist.txt", "dl21/runs", "dl21/judgments.txt"
REAL = {
    "pool": ("pool", "--runs", RUNS, "--qrels", NIST, "--depth", "2", "--out", "out/pool.tsv", "--json"),
    "resolve": ("resolve", "--judgments", VOTES, "--out", "out/votes.qrels", "--per-query", "--json"),
    "score": (
        "score",
        "--runs",
        RUNS,
        "--qrels",
        NIST,
        "--measure",
        "nDCG@10",
        "--measure",
        "RR@10",
        "--json",
    ),
    "compare": ("compare", "--baseline", "p_bm25", "--runs", RUNS, "--qrels", NIST, "--json"),
    "stability": ("stability", "--runs", RUNS, "--qrels", NIST, "--measure", "RR@10", "--json"),
    "winratio": ("winratio", "--runs", RUNS, "--judgments", VOTES, "--json"),
    "check": ("check", RUNS, NIST, VOTES, "--json"),
}
"""Commands on the real runs, which lie in the folder of the data."""


def run(folder: Path, command: tuple[str, ...]) -> bytes:
    """Return what a verb prints, its errors too: that it refuses what it took before is a difference."""
    words = [str(DATA / word) if word.startswith("dl21/") else word for word in command]
    done = subprocess.run(
        [sys.executable, "-m", "prefjudge", *words], cwd=folder, capture_output=True, check=False
    )
    return done.stdout + done.stderr + f"\nexit code {done.returncode}\n".encode()


def make_study(folder: Path) -> None:
    """Make a study of the demo's collection in a folder, with votes that are the same each time."""
    runs, qrels, queries, texts = (
        f"demo/collection/{name}" for name in ("runs", "qrels.txt", "queries.tsv", "collection.tsv")
    )
    inputs = ("--runs", runs, "--qrels", qrels, "--queries", queries, "--collection", texts)
    for command in (
        ("demo", "demo"),
        ("init", "study", "--name", "demo"),
        ("pool", "study", *inputs, "--out", "pool.tsv"),
    ):
        told = run(folder, command)
        if b"exit code 0" not in told:
            raise SystemExit(told.decode())
    with closing(sqlite3.connect(folder / "study" / "study.db")) as db, db:
        db.execute("INSERT OR REPLACE INTO settings (key, value) VALUES ('secret', ?)", ("5a" * 32,))
    rows = (folder / "demo/collection/truth.tsv").read_text().splitlines()[1:]
    worth = {(query, doc): float(value) for query, doc, value in (row.split("\t") for row in rows)}
    pools: dict[str, dict[str, None]] = {}
    for row in (folder / "pool.tsv").read_text().splitlines()[1:]:
        query, doc = row.split("\t")[:2]
        pools.setdefault(query, {})[doc] = None
    rng, votes = Random(7), []
    for query, docs in pools.items():
        for one, other in combinations(docs, 2):
            for worker in rng.sample(range(9), 2):
                better, worse = sorted((one, other), key=lambda doc: -worth.get((query, doc), 0.0))
                votes.append(f"{query} {one} {other} {worse if rng.random() < 0.2 else better} w{worker}")
    (folder / "votes.txt").write_text("\n".join(votes) + "\n")
    run(folder, ("import", "study", "votes.txt"))
    run(folder, ("resolve", "study"))


def documents(folder: Path, commands: dict[str, tuple[str, ...]]) -> dict[str, bytes]:
    """Return what the commands print and write in a folder, by name, without what changes by itself."""
    (folder / "out").mkdir()
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        found = dict(zip(commands, threads.map(lambda one: run(folder, one), commands.values()), strict=True))
    for path in sorted((folder / "out").rglob("*")):
        if path.is_file() and path.suffix != ".png":
            found[path.relative_to(folder).as_posix()] = path.read_bytes()
    for name, text in found.items():
        text = text.replace(bytes(folder), b"<folder>").replace(bytes(DATA), b"<data>")
        for pattern, word in CHANGING:
            text = pattern.sub(word, text)
        found[name] = text
    return found


def gather() -> dict[str, bytes]:
    """Return every document by its name."""
    found = {}
    with TemporaryDirectory() as made:
        demo, real = Path(made).resolve() / "demo", Path(made).resolve() / "real"
        demo.mkdir()
        real.mkdir()
        make_study(demo)
        found |= {f"demo/{name}": text for name, text in documents(demo, DEMO).items()}
        if (DATA / RUNS).is_dir():
            found |= {f"dl21/{name}": text for name, text in documents(real, REAL).items()}
        else:
            print(f"{DATA / RUNS} is not there: the demo alone is compared")
    return found


def differing(name: str, now: bytes) -> str:
    """Return how a document differs from the one that is kept; empty where it does not."""
    path = KEPT / name
    if not path.is_file():
        return f"{name}: is new"
    for number, (one, other) in enumerate(zip_longest(path.read_bytes().splitlines(), now.splitlines()), 1):
        if one != other:
            was, is_now = (b"(nothing)" if text is None else text[:160] for text in (one, other))
            return f"{name}:{number}\n  was {was!r}\n  now {is_now!r}"
    return ""


def main(arguments: list[str]) -> int:
    """Keep the documents, or compare them with those that are kept."""
    if "--keep" not in arguments and not KEPT.is_dir():
        print("nothing is kept to compare with: python scripts/same.py --keep", file=sys.stderr)
        return 2
    found = gather()
    if "--keep" in arguments:
        shutil.rmtree(KEPT, ignore_errors=True)
        for name, text in found.items():
            (KEPT / name).parent.mkdir(parents=True, exist_ok=True)
            (KEPT / name).write_bytes(text)
        print(f"kept {len(found)} documents")
        return 0
    gone = {path.relative_to(KEPT).as_posix() for path in KEPT.rglob("*") if path.is_file()} - found.keys()
    told = [differing(name, text) for name, text in found.items()] + [f"{name}: is gone" for name in gone]
    print("\n".join(filter(None, told)) or f"{len(found)} documents are the same")
    return int(any(told))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
