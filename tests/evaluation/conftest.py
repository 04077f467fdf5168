"""The real runs and labels, read by a reader of the tests' own."""

import gzip
from pathlib import Path

import pytest

from .samples import RunDict


@pytest.fixture(scope="session")
def dl21_labels(data_dir: Path) -> dict[str, dict[str, int]]:
    labels: dict[str, dict[str, int]] = {}
    for line in (data_dir / "dl21" / "qrels-nist.txt").read_text().splitlines():
        query, _, doc, grade = line.split()
        labels.setdefault(query, {})[doc] = int(grade)
    return labels


@pytest.fixture(scope="session")
def dl21_runs(data_dir: Path, dl21_labels: dict[str, dict[str, int]]) -> dict[str, RunDict]:
    """The scores of each run's documents, of the judged queries only."""
    runs: dict[str, RunDict] = {}
    for path in sorted((data_dir / "dl21" / "runs").glob("*.gz")):
        run: RunDict = {}
        with gzip.open(path, "rt") as lines:
            for line in lines:
                query, _, doc, _, score, *_ = line.split()
                if query in dl21_labels:
                    run.setdefault(query, {})[doc] = float(score)
        runs[path.name.removesuffix(".txt.gz")] = run
    return runs
