"""A release can be verified from its folder alone, holds nothing private, and is loaded by other programs."""

import gzip
import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from prefjudge import import_votes, init, release, resolve, run
from prefjudge.errors import InputError, StudyError
from prefjudge.steps.release.leaks import Private, find_leaks
from tests.cli.conftest import prefjudge
from tests.steps.conftest import COLLECTION, edit

AUTHOR = '{name = "Ada Lovelace", affiliation = "A House", orcid = "0000-0002-1825-0097"}'
ABOUT = {
    'title = ""': 'title = "Six questions"',
    "authors = []": f"authors = [{AUTHOR}]",
    'license = ""': 'license = "CC-BY-4.0"',
    'url = ""\ndate = ""': 'url = "https://example.org/six"\ndate = "2026-12-01"',
    "keywords = []": 'keywords = ["questions"]',
}


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with all that there may be, of a study of imported votes."""
    folder = tmp_path_factory.mktemp("released")
    votes = [
        (f"q{query}", f"q{query}a", f"q{query}{other}", f"q{query}a", f"worker-number-{worker}")
        for query in range(6)
        for other in "bc"
        for worker in range(3)
    ] + [(f"q{query}", f"q{query}b", f"q{query}c", f"q{query}b", "worker-number-1") for query in range(6)]
    (folder / "votes.txt").write_text("".join(" ".join(vote) + "\n" for vote in votes))
    for kind, ids in (
        ("queries", [f"q{query}" for query in range(6)]),
        ("passages", [f"q{query}{doc}" for query in range(6) for doc in "abc"]),
    ):
        (folder / f"{kind}.tsv").write_text("".join(f"{one}\tthe text of {one}\n" for one in ids))
    init(folder / "study")
    texts = {"queries": folder / "queries.tsv", "collection": folder / "passages.tsv"}
    import_votes(folder / "study", folder / "votes.txt", **texts)
    edit(folder / "study", *ABOUT.items())
    resolve(folder / "study")
    done = release(folder / "study", texts=True, out=folder / "release")
    assert done.ok
    return folder / "release"


@pytest.fixture
def bundle(released: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(released, tmp_path / "release"))


def sum_again(folder: Path, name: str) -> None:
    """Make the digests of a file right again, as one would who turns a judgment and hides it."""

    def digest(path: Path) -> str:
        return hashlib.sha256(path.read_bytes()).hexdigest()

    old = next(line.split()[0] for line in (folder / "SHA256SUMS").read_text().splitlines() if name in line)
    for one in ("release.json", "SHA256SUMS", "croissant.json"):
        path = folder / one
        path.write_text(path.read_text().replace(old, digest(folder / name)))
    for changed in ("croissant.json", "release.json"):
        lines = (folder / "SHA256SUMS").read_text().splitlines()
        lines = [f"{digest(folder / changed)}  {changed}" if changed in line else line for line in lines]
        (folder / "SHA256SUMS").write_text("\n".join(lines) + "\n")


def test_what_is_made_again_is_said(released: Path) -> None:
    found = release(verify=released)
    assert found.ok
    again = {"preference.qrels", "resolutions.jsonl", "judgments.txt", "preferences.prefs", "README.md"}
    assert again | {"croissant.json", "CITATION.cff"} <= set(found.derived)
    assert (found.study, found.license, found.answers, found.judgments) == ("study", "CC-BY-4.0", 6, 42)


def test_one_flipped_byte_of_any_file_is_found(bundle: Path) -> None:
    for path in sorted(bundle.iterdir()):
        before = path.read_bytes()
        place = len(before) // 2
        path.write_bytes(before[:place] + bytes([before[place] ^ 1]) + before[place + 1 :])
        try:
            assert not release(verify=bundle).ok, path.name
        except InputError:
            assert path.name == "release.json"  # it may no longer be JSON
        path.write_bytes(before)
    assert release(verify=bundle).ok


def test_each_byte_of_the_sums_is_looked_at(bundle: Path) -> None:
    """A flipped end of a line may be another end of a line, and a line that is there twice counts once."""
    sums = bundle / "SHA256SUMS"
    before = sums.read_bytes()
    ends = [place for place, byte in enumerate(before) if byte == 10]
    changed = [before[:place] + b"\x0b" + before[place + 1 :] for place in (ends[0], ends[-1])]
    doubled = before.splitlines(keepends=True)
    changed += [b"".join([b"0" * 64 + doubled[0][64:], *doubled]), before.replace(b"\n", b"\r\n")]
    for wrong in changed:
        sums.write_bytes(wrong)
        assert "SHA256SUMS is not as it was written" in release(verify=bundle).problems


def test_what_is_not_named_is_not_read(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (bundle / "folder").symlink_to(tmp_path / "elsewhere")
    (bundle / "asked.tsv").write_text("q0\tq0a\tq0b\n")
    found = release(verify=bundle)
    assert found.ok
    assert found.notices == tuple(f"{name} is not part of the release" for name in ("asked.tsv", "folder"))


def test_a_turned_judgment_is_found_though_its_digests_are_right(bundle: Path) -> None:
    log = bundle / "judgments.jsonl"
    first, *rest = log.read_text().splitlines()
    turned = json.loads(first)
    turned["choice"] = {"left": "right", "right": "left"}[turned["choice"]]
    log.write_text("\n".join([json.dumps(turned, ensure_ascii=False), *rest]) + "\n")
    sum_again(bundle, "judgments.jsonl")
    done = prefjudge("release", "--verify", bundle)
    assert done.returncode == 1
    assert "judgments.txt is not what the judgments make" in done.stdout
    assert "digest" not in done.stdout


def test_an_answer_that_was_changed_is_found_though_its_digests_are_right(bundle: Path) -> None:
    answers = bundle / "preference.qrels"
    answers.write_text(answers.read_text().replace("q0a", "q0b"))
    sum_again(bundle, "preference.qrels")
    assert release(verify=bundle).problems == ("preference.qrels is not what the judgments make",)


ODD = {
    "numbers": {"queries": "six"},
    "files": [{"name": 1}],
    "rehearsal": [],
    "rule": None,
    "measures": "RR@10",
    "design": {"pairs_per_hit": -1},
    "pool": {},
    "how": {"rule": "nobody's"},
    "secret": "no release has it",
}


def with_record(folder: Path, record: dict[str, object]) -> None:
    """Put another record into a release, with its digest."""
    (folder / "release.json").write_text(json.dumps(record))
    sums = (folder / "SHA256SUMS").read_text().splitlines()
    mine = f"{hashlib.sha256((folder / 'release.json').read_bytes()).hexdigest()}  release.json"
    sums = [mine if line.endswith("  release.json") else line for line in sums]
    (folder / "SHA256SUMS").write_text("\n".join(sums) + "\n")


@pytest.mark.parametrize("key", ODD)
def test_an_odd_record_whose_digest_is_right_is_told_in_words(bundle: Path, key: str) -> None:
    whole = json.loads((bundle / "release.json").read_text())
    with_record(bundle, {**whole, key: ODD[key]})
    with pytest.raises(InputError, match=r"release\.json.*:") as told:
        release(verify=bundle)
    assert key in str(told.value) or set(ODD[key]) & set(str(told.value).replace(":", " ").split())


@pytest.mark.parametrize("key", ["rule", "measures", "prefjudge"])
def test_a_record_of_what_nobody_knows_is_told_in_words(bundle: Path, key: str) -> None:
    whole = json.loads((bundle / "release.json").read_text())
    odd = [key] if isinstance(whole[key], list) else "nobody's"
    with_record(bundle, {**whole, key: odd})
    found = release(verify=bundle)
    assert found.problems or (key == "prefjudge" and "made with prefjudge nobody's" in found.notices[0])


def test_what_is_missing_and_what_does_not_belong(bundle: Path) -> None:
    (bundle / "LICENSE").write_text("mine")
    assert release(verify=bundle).notices == ("LICENSE is not part of the release",)
    (bundle / "pool.tsv").unlink()
    assert release(verify=bundle).problems == ("pool.tsv is missing",)
    sums = bundle / "SHA256SUMS"
    sums.write_text(sums.read_text() + f"{'0' * 64}  ../../etc/passwd\n")
    assert any("'../../etc/passwd', which is not a file" in one for one in release(verify=bundle).problems)


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (None, "is not a release"),
        ("{", "cannot be read"),
        ('{"prefjudge": null}', "is not a whole release"),
        ('{"prefjudge": "0.1.0", "format": 1}', "has layout 1"),
    ],
)
def test_what_is_not_a_release_is_an_error(tmp_path: Path, record: str | None, words: str) -> None:
    if record is not None:
        (tmp_path / "release.json").write_text(record)
    with pytest.raises(InputError, match=words):
        release(verify=tmp_path)


def test_a_study_or_a_release(tmp_path: Path) -> None:
    for given in ({}, {"study": tmp_path, "verify": tmp_path}):
        with pytest.raises(InputError, match="a study to release, or a release to verify"):
            release(**given)  # type: ignore[arg-type]


def test_the_board_is_made_again_from_the_tops_of_the_runs(pooled: Path, tmp_path: Path) -> None:
    """Also the answers that ``run`` keeps, which no rule alone finds, and the pairs of a strategy."""
    run(pooled, strategy="sure:60", workers=12, error=0.1, truth=COLLECTION / "truth.tsv", yes=True)
    folder = Path(release(pooled, rehearsal=True, runs=True).out)
    found = release(verify=folder)
    assert found.ok
    assert {"leaderboard.csv", "judgments.txt", "resolutions.jsonl"} <= set(found.derived)
    assert any("the answers were not made again" in one for one in found.notices)
    assert (folder / "asked.tsv").is_file()
    board = folder / "leaderboard.csv"
    board.write_text(board.read_text().replace(",1,", ",2,", 1))
    sum_again(folder, "leaderboard.csv")
    assert release(verify=folder).problems == ("leaderboard.csv is not what the judgments make",)
    edit(pooled, ('measures = ["RR@10"]', 'measures = ["AP"]'))
    before = (folder / "release.json").read_bytes()
    with pytest.raises(StudyError, match="AP looks at whole runs"):
        release(pooled, rehearsal=True, runs=True)
    assert (folder / "release.json").read_bytes() == before  # what was there is still whole


def test_a_release_is_a_study_again(released: Path, tmp_path: Path) -> None:
    init(tmp_path / "again")
    import_votes(tmp_path / "again", released)
    resolve(tmp_path / "again")
    again = release(tmp_path / "again", texts=True)
    assert again.ok
    for name in ("preference.qrels", "queries.tsv", "passages.tsv"):
        assert (Path(again.out) / name).read_bytes() == (released / name).read_bytes()


PLANTED = {
    "worker": ("pool.tsv", b"q1\td1\tfrom A2XYZWORKERID9 there\n"),
    "joined": ("judgments.jsonl", b'{"note": "seen/A2XYZWORKERID9"}\n'),
    "text": ("passages.tsv", b"d1\twritten by A2XYZWORKERID9 himself\n"),
    "panel": ("comments.jsonl", b'{"comment": "5f3c1d2e4b6a7988776655aa"}\n'),
    "address": ("README.md", b"| by `jane.doe@example.org` |\n"),
    "key": ("croissant.json", b'"AKIAIOSFODNN7EXAMPLE"\n'),
    "path": ("README.md", b"from C:\\Users\\jane\\study\n"),
    "escaped": ("judgments.jsonl", b'{"note": "\\u0041\\u0032XYZWORKERID9"}\n'),
    "quoted": ("resolutions.jsonl", b'{"note": "by an \\"ann\\" of 9 here"}\n'),
    "of several words": ("README.md", b"| run | of Anna Smith &amp; co |\n"),
    "with a colon": ("pool.tsv", b"q1\td1\tbm25-panel:77x-k1\n"),
    "in code": ("README.md", b"by the strategy `a2xyzworkerid9`\n"),
    "record": ("release.json", b'{"name": "A2XYZWORKERID9"}\n'),
    "packed": ("runs/001-x.txt.gz", gzip.compress(b"q1 Q0 d1 1 1 A2XYZWORKERID9\n", mtime=0)),
}


@pytest.mark.parametrize("what", PLANTED)
def test_what_is_private_is_found_in_any_file(tmp_path: Path, what: str) -> None:
    name, data = PLANTED[what]
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(data)
    known = ["A2XYZWORKERID9", "anna", "anna smith & co", 'an "ann" of 9', "panel:77x"]
    private = Private.of(known, public=["anna"])
    found = find_leaks(tmp_path, [name], data.decode() if name == "release.json" else "", private)
    assert [(leak.file, leak.line) for leak in found] == [(name, 1)]


def test_words_that_may_be_shown_are_not_leaks(tmp_path: Path) -> None:
    (tmp_path / "passages.tsv").write_text("d1\tanna wrote to jane.doe@example.org from C:\\Users\\jane\n")
    (tmp_path / "pool.tsv").write_text("q1\td1\tjane.doe@example.org,5f3c1d2e4b6a7988776655aa\n")
    shown = ["jane.doe@example.org", "5f3c1d2e4b6a7988776655aa", "d1"]
    private = Private.of(["anna", "d1", "doe@ex", "----"], public=shown)  # no part of a longer token
    assert find_leaks(tmp_path, ["passages.tsv", "pool.tsv"], "", private) == []


def test_nothing_is_left_of_a_release_that_would_tell(released: Path, tmp_path: Path) -> None:
    study = Path(shutil.copytree(released.parent / "study", tmp_path / "study"))
    edit(study, ('title = "Six questions"', 'title = "Six questions of worker-number-1"'))
    with pytest.raises(StudyError, match=r"README\.md:\d+: an id or a path that only the study knows"):
        release(study)
    assert [path.name for path in (study / "release").iterdir()] == ["release.json"]
    with pytest.raises(InputError, match="is not a whole release"):
        release(verify=study / "release")
    assert release(study, public=["worker-number-1"]).ok  # in the same folder


def test_whose_work_was_judged_by_name_is_not_told(released: Path, tmp_path: Path) -> None:
    study = Path(shutil.copytree(released.parent / "study", tmp_path / "study"))
    edit(study, ("[screening]", '[screening]\nkeep.worker-number-1 = "she asked"'))
    done = release(study)
    assert done.ok
    whole = b"".join(path.read_bytes() for path in Path(done.out).iterdir())
    assert b"worker-number-1" not in whole
    assert b"she asked" not in whole


LOAD = """
import sys
from importlib import util
folder = sys.argv[1]
import mlcroissant
from datasets import load_dataset
assert len(load_dataset(folder, split="train")) == 42
chosen = load_dataset(folder, "chosen", split="train")
assert chosen[0]["prompt"].startswith("the text of q"), chosen[0]
described = mlcroissant.Dataset(jsonld=f"{folder}/croissant.json")
assert not described.metadata.issues.report()
assert len(list(described.records(record_set="judgments"))) == 42
spec = util.spec_from_file_location("released", f"{folder}/ir_dataset.py")
module = util.module_from_spec(spec)
spec.loader.exec_module(module)
import ir_datasets
known = ir_datasets.load("prefjudge/study")
assert len(list(known.qrels_iter())) == 6 and known.docs_store().get("q0a").text == "the text of q0a"
assert {query.query_id for query in known.queries_iter()} == {f"q{n}" for n in range(6)}
"""


def test_other_programs_load_it(released: Path, tmp_path: Path) -> None:
    for name in ("datasets", "mlcroissant", "ir_datasets"):
        pytest.importorskip(name, reason=f"loading a release takes {name}")
    apart = {"HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1", "IR_DATASETS_HOME": str(tmp_path), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(released)], capture_output=True, text=True, env=apart, check=False
    )
    assert done.returncode == 0, done.stderr


def test_who_made_it_and_what_may_be_done(released: Path) -> None:
    cited = (released / "CITATION.cff").read_text()
    assert 'title: "Six questions"' in cited
    assert "orcid: https://orcid.org/0000-0002-1825-0097" in cited
    page = (released / "README.md").read_text()
    assert page.startswith('---\npretty_name: "Six questions"\nlicense: cc-by-4.0\n')
    assert "[CC-BY-4.0](https://spdx.org/licenses/CC-BY-4.0.html). The texts have their own." in page


def test_a_licence_is_a_name(pooled: Path) -> None:
    edit(pooled, more='\n[release]\nlicense = "do what you want"\n')
    with pytest.raises(InputError, match="is not the name of a licence"):
        release(pooled)


def test_times_are_whole_seconds(released: Path) -> None:
    works = [json.loads(line) for line in (released / "assignments.jsonl").read_text().splitlines()]
    votes = [json.loads(line) for line in (released / "judgments.jsonl").read_text().splitlines()]
    assert all(isinstance(one["seconds"], int | None) for one in works)
    assert {(one["milliseconds"] or 0) % 1000 for one in votes} == {0}
    assert {one["hit"] for one in votes} <= {one["hit"] for one in works}
