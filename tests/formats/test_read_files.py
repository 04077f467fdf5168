"""The script that reads every file of a folder: what it counts, what it lists, and when it fails."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(*words: object) -> subprocess.CompletedProcess[str]:
    script = [sys.executable, ROOT / "scripts" / "read_files.py", *map(str, words)]
    return subprocess.run(script, capture_output=True, text=True, check=False)


def test_files_are_read_whole_and_counted(tmp_path):
    for name, text in {
        "topics/topics.x.txt": "<top><num>1<title>a</top>",
        "topics/topics.y.tsv": "1\ta\n2\tb\n",
        "scifact/queries.jsonl": '{"_id": "1", "text": "a"}\n',
        "scifact/qrels/test.tsv": "query-id\tcorpus-id\tscore\n1\t2\t1\n1\t3\t0\n",
        "scifact/corpus.jsonl": "neither topics nor qrels",
        "qrels/docids.txt": "a\nb\n",
        "README.md": "topics",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text)
    done = run(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "refused: qrels qrels/docids.txt is not a qrels file: it holds a word a line, as lists of ids do",
        "read 1 files of qrels, 2 entries",
        "read 3 files of queries, 4 entries",
        "refused 1, crashed 0",
    ]
    (tmp_path / "empty").mkdir()
    assert run(tmp_path / "empty").returncode == 1
    assert "scripts/read_files.py FOLDER" in run(tmp_path / "nothing").stderr
