"""What other packages add: the page's own example, installed and used; broken ones; and names that clash."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from prefjudge import score
from prefjudge.core.resolving.rules import RULES
from prefjudge.crowd.crowds import CROWDS
from prefjudge.errors import InputError
from prefjudge.evaluation.measures.measures import FAMILIES, Measure
from prefjudge.reading.lines import READERS
from prefjudge.reading.texts.texts import TEXT_FORMATS
from prefjudge.registers import Register
from prefjudge.show.tables import EXPORTERS
from tests.cli.conftest import Finished, prefjudge
from tests.steps.conftest import COLLECTION

PAGE = Path(__file__).resolve().parents[1] / "docs" / "plugins.md"
RUN, QRELS = COLLECTION / "runs" / "lexical.txt", COLLECTION / "qrels.txt"
Groups = Mapping[str, Mapping[str, str]]


def install(site: Path, name: str, groups: Groups) -> None:
    """Put a distribution into a folder as an installer does: its entry points stand beside its modules."""
    info = site / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [
        line for group, entries in groups.items()
        for line in (f"[{group}]", *(f"{entry} = {value}" for entry, value in entries.items()), "")
    ]  # fmt: skip
    (info / "entry_points.txt").write_text("\n".join(lines))


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the package that the page prints, as it prints it."""
    site = tmp_path_factory.mktemp("site")
    blocks = re.findall(
        r"^```(?:toml|python)\n# (\S+)\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL
    )
    files = dict(blocks)
    assert len(files) == len(blocks) == 7
    install(site, "prefjudge-example", tomllib.loads(files.pop("pyproject.toml"))["project"]["entry-points"])
    for name, text in files.items():
        (site / name).parent.mkdir(exist_ok=True)
        (site / name).write_text(text)
    return site


def run(site: Path, *words: object) -> Finished:
    return prefjudge(*words, before=("env", f"PYTHONPATH={site}"))


def go_to(crowd: str, study: Path) -> None:
    """Write into a study's config that its sandbox is this crowd."""
    config = study / "study.toml"
    without = re.sub(r"^crowd = .*\n", "", config.read_text(), flags=re.MULTILINE)
    config.write_text(re.sub(r"(?m)^(\[targets\.sandbox\].*\n)", rf'\1crowd = "{crowd}"\n', without))


def test_a_package_adds_a_measure(example: Path) -> None:
    measures = ("--measure", "log-rank@10", "--measure", "RR@10")
    done = run(example, "score", "--runs", RUN, "--qrels", QRELS, *measures, "--json")
    assert done.returncode == 0, done.stderr
    boards = json.loads(done.stdout)["leaderboards"]
    assert [board["measure"] for board in boards] == ["LogRank@10", "RR@10"]
    theirs, ours = (board["rows"][0]["score"] for board in boards)
    assert 0 < ours < theirs < 1  # the logarithm falls more slowly than the reciprocal


def test_the_parameters_of_its_measure_have_bounds(example: Path) -> None:
    done = run(example, "score", "--runs", RUN, "--qrels", QRELS, "--measure", "LogRank(base=-5)")
    assert done.returncode == 1
    assert "LogRank(base=-5)': base must be a number above 1, not '-5'" in done.stderr
    assert "By default it is LogRank(base=2)." in done.stderr


def test_a_package_adds_a_rule(example: Path, tmp_path: Path) -> None:
    (tmp_path / "votes").write_text("q d1 d2 d1\nq d1 d2 d1\nq d1 d3 d3\nq d2 d3 d2\n")
    out = tmp_path / "winners"
    done = run(example, "resolve", "--judgments", tmp_path / "votes", "--rule", "fewest-losses", "--out", out)
    assert done.returncode == 0, done.stderr
    assert "fewest-losses" in run(example, "resolve", "--help").stdout
    rows = [line.split() for line in out.read_text().splitlines()]
    assert [(query, doc) for query, _, doc, _ in rows] == [("q", "d1"), ("q", "d3")]  # d2 lost two votes


def test_a_package_adds_a_crowd(example: Path, tmp_path: Path) -> None:
    study = tmp_path / "study"
    assert run(example, "init", study).returncode == 0
    assert (
        run(example, "pool", study, "--runs", COLLECTION / "runs" / "*.txt", "--qrels", QRELS).returncode == 0
    )
    costs = []
    for crowd in ("mturk", "campus", "nobody"):
        go_to(crowd, study)
        done = run(example, "plan", study, "--error", "0.2", "--trials", "5", "--json")
        if crowd == "nobody":
            assert done.returncode == 1
            assert "choose one of: mturk, prolific, campus" in done.stderr
        else:
            assert done.returncode == 0, done.stderr
            costs.append(float(json.loads(done.stdout)["plans"][0]["money"]))
    assert costs[1] == pytest.approx(costs[0] / 1.2)  # without the fees
    same = (
        "from prefjudge_example import campus; from prefjudge.crowd.protocol import CrowdSettings; "
        "one = CrowdSettings(url='http://127.0.0.1:9'); "
        "print(campus.open_crowd(one).prices == campus.read_prices(one))"
    )
    path = {**os.environ, "PYTHONPATH": str(example)}
    said = subprocess.run([sys.executable, "-c", same], env=path, capture_output=True, text=True, check=True)
    assert said.stdout == "True\n", "what it charges is what a plan reckons with"


def test_a_package_adds_a_reader(example: Path, tmp_path: Path) -> None:
    rows = [line.split() for line in RUN.read_text().splitlines()]
    commas = tmp_path / "lexical.commas"
    commas.write_text("".join(f"{row[0]},{row[2]},{row[3]},{row[4]}\n" for row in rows))

    def scores(path: Path) -> list[tuple[str, float]]:
        done = run(example, "score", "--runs", path, "--qrels", QRELS, "--measure", "nDCG@10", "--json")
        assert done.returncode == 0, done.stderr
        return [(row["run"], row["score"]) for row in json.loads(done.stdout)["leaderboards"][0]["rows"]]

    assert scores(commas) == scores(RUN)
    assert "TREC without tag, 5 columns, 150 lines" in run(example, "check", commas).stdout
    commas.write_text("q1,d1,1\n")
    done = run(example, "score", "--runs", commas, "--qrels", QRELS)
    assert f"{commas}:1: 3 columns where 4 are expected\n  Write query,doc,rank,score." in done.stderr


def test_a_package_adds_a_text_format(example: Path, tmp_path: Path) -> None:
    def cards(name: str) -> Path:
        (tmp_path / f"{name}.cards").write_text((COLLECTION / f"{name}.tsv").read_text().replace("\t", " | "))
        return tmp_path / f"{name}.cards"

    files = ("--queries", cards("queries"), "--collection", cards("collection"))
    runs, out = ("--runs", RUN, "--qrels", QRELS, "--out"), tmp_path / "pool.tsv"
    done = run(example, "pool", *runs, out, *files)
    assert done.returncode == 0, done.stderr
    assert run(example, "pool", *runs, tmp_path / "other.tsv").returncode == 0
    assert out.read_bytes() == (tmp_path / "other.tsv").read_bytes()
    (tmp_path / "queries.cards").write_text("q01 | what\nnonsense\n")
    done = run(example, "pool", *runs, out, *files)
    assert f"{tmp_path / 'queries.cards'}:2:1: not a card" in done.stderr
    assert "Write each line as: id | text." in done.stderr


def test_a_file_goes_through_its_reader_even_where_it_looks_like_a_run(tmp_path: Path) -> None:
    install(tmp_path, "prefixed", {"prefjudge.readers": {"prefixed": "prefixed:read"}})
    (tmp_path / "prefixed.py").write_text(
        "def read(path, data):\n    yield b''.join(data).replace(b'DOC-', b'')\n"
    )
    file = tmp_path / "lexical.prefixed"
    file.write_text(RUN.read_text().replace(" Q0 ", " Q0 DOC-"))
    found = [
        json.loads(run(tmp_path, "score", "--runs", path, "--qrels", QRELS, "--json").stdout)
        for path in (RUN, file)
    ]
    scores = [one["leaderboards"][0]["rows"][0]["score"] for one in found]
    assert scores[0] == scores[1] > 0


def test_a_package_adds_an_exporter(example: Path, tmp_path: Path) -> None:
    out = tmp_path / "board.html"
    done = run(example, "score", "--runs", RUN, "--qrels", QRELS, "--out", out, "--format", "html")
    assert done.returncode == 0, done.stderr
    for text in (out.read_text(), done.stdout):
        assert text.startswith("<table>\n<caption>")
        assert "<td>lexical</td>" in text
    assert (
        "Choose one of: terminal, csv, json, md, tex, html."
        in run(example, "score", "--runs", RUN, "--qrels", QRELS, "--format", "word").stderr
    )


def test_a_plugin_that_is_broken_is_named_and_all_else_goes_on(tmp_path: Path) -> None:
    install(
        tmp_path, "bad-plugin",
        {
            "prefjudge.measures": {"Gone": "no_such_module:GONE", "Text": "string:digits"},
            "prefjudge.rules": {"broken": "bad_plugin:RULE"},
            "prefjudge.readers": {"odd": "bad_plugin:read"},
            "prefjudge.exporters": {"odd": "bad_plugin:write"},
            "prefjudge.crowds": {"odd": "bad_plugin"},
        },
    )  # fmt: skip
    (tmp_path / "bad_plugin.py").write_text("raise RuntimeError('out of order')\n")
    done = run(tmp_path, "score", "--runs", RUN, "--qrels", QRELS, "--measure", "RR@10", "--measure", "map")
    assert done.returncode == 0, done.stderr
    unknown = run(tmp_path, "score", "--runs", RUN, "--qrels", QRELS, "--measure", "RRR@10")
    assert "unknown measure 'RRR@10'" in unknown.stderr
    gone = run(tmp_path, "score", "--runs", RUN, "--qrels", QRELS, "--measure", "Gone@10")
    assert gone.returncode == 1
    assert "the measure Gone cannot be loaded from bad-plugin 1.0 (no_such_module:GONE)" in gone.stderr
    assert "Update bad-plugin, or uninstall it." in gone.stderr
    text = run(tmp_path, "score", "--runs", RUN, "--qrels", QRELS, "--measure", "Text")
    assert "the measure Text of bad-plugin 1.0 (string:digits) is a str, not a Family" in text.stderr
    (tmp_path / "votes").write_text("q d1 d2 d1\n")
    rule = run(
        tmp_path, "resolve", "--judgments", tmp_path / "votes", "--rule", "broken", "--out", tmp_path / "o"
    )
    assert "the rule broken cannot be loaded from bad-plugin 1.0 (bad_plugin:RULE)" in rule.stderr
    assert "RuntimeError: out of order" in rule.stderr
    whole = run(
        tmp_path, "resolve", "--judgments", tmp_path / "votes", "--sensitivity", "--out", tmp_path / "o"
    )
    assert whole.returncode == 0, whole.stderr
    (tmp_path / "run.odd").write_bytes(RUN.read_bytes())
    odd = run(tmp_path, "score", "--runs", tmp_path / "run.odd", "--qrels", QRELS)
    assert "the reader odd cannot be loaded from bad-plugin 1.0" in odd.stderr
    for done in (gone, text, rule, odd):
        assert done.returncode == 1
        assert "Traceback" not in done.stderr


def test_a_plugin_that_fails_at_work_is_named(tmp_path: Path) -> None:
    install(
        tmp_path, "weak-plugin",
        {
            "prefjudge.measures": {"Zero": "weak_plugin:ZERO", "Short": "weak_plugin:SHORT"},
            "prefjudge.rules": {"nobody": "weak_plugin:NOBODY"},
            "prefjudge.readers": {"weak": "weak_plugin:read"},
            "prefjudge.exporters": {"weak": "weak_plugin:write"},
            "prefjudge.crowds": {"weak": "weak_plugin"},
        },
    )  # fmt: skip
    (tmp_path / "weak_plugin.py").write_text(
        "import numpy as np\n"
        "from prefjudge.core.resolving.rules import NamedRule\n"
        "from prefjudge.evaluation.measures.measures import Family\n"
        "ZERO = Family(name='Zero', scorer=lambda *_: 1 / 0)\n"
        "SHORT = Family(name='Short', scorer=lambda *_: np.zeros(2))\n"
        "NOBODY = NamedRule()\n"
        "def read(path, data):\n    yield b'q1 0 d1 1\\n'\n    raise KeyError('column')\n"
        "def write(table):\n    return 3\n"
    )
    (tmp_path / "votes").write_text("q d1 d2 d1\n")
    (tmp_path / "labels.weak").write_text("")
    study = tmp_path / "study"
    run(tmp_path, "init", study)
    run(tmp_path, "pool", study, "--runs", COLLECTION / "runs" / "*.txt", "--qrels", QRELS)
    go_to("weak", study)
    scoring = ("score", "--runs", RUN, "--qrels", QRELS)
    for words, said in (
        (
            (*scoring, "--measure", "Zero"),
            "the measure Zero of weak-plugin 1.0 (weak_plugin:ZERO) failed: ZeroDiv",
        ),
        ((*scoring, "--measure", "Short"), "failed: ValueError: scores of shape (2,) for 15 queries"),
        (
            (*scoring, "--format", "weak"),
            "the exporter weak of weak-plugin 1.0 (weak_plugin:write) failed: TypeError",
        ),
        (("score", "--runs", RUN, "--qrels", tmp_path / "labels.weak"), "the reader weak of weak-plugin 1.0"),
        (
            ("resolve", "--judgments", tmp_path / "votes", "--rule", "nobody", "--out", tmp_path / "out"),
            "the rule nobody of weak-plugin 1.0 (weak_plugin:NOBODY) failed: TypeError: it has neither",
        ),
        (
            ("plan", study, "--trials", "5"),
            "the crowd weak of weak-plugin 1.0 (weak_plugin) failed: AttributeError",
        ),
    ):
        done = run(tmp_path, *words)
        assert (done.returncode, said in done.stderr) == (1, True), (words, done.stderr)
        assert "Tell the author of weak-plugin, or uninstall it." in done.stderr
        assert "Traceback" not in done.stderr


def test_a_name_that_two_have_is_an_error_that_names_both(tmp_path: Path) -> None:
    install(tmp_path, "one-plugin", {"prefjudge.measures": {"MAP": "one:M", "Same": "one:M"}})
    install(
        tmp_path,
        "two-plugin",
        {"prefjudge.measures": {"Same": "two:M"}, "prefjudge.rules": {"smith": "two:R"}},
    )
    done = run(tmp_path, "score", "--runs", RUN, "--qrels", QRELS, "--measure", "RR@10")
    assert done.returncode == 0, done.stderr
    for measure, words in (
        ("MAP", "two packages have a measure MAP: prefjudge's own AP, and one-plugin 1.0 (one:M)"),
        ("Same", "two packages have a measure Same: one-plugin 1.0 (one:M), and two-plugin 1.0 (two:M)"),
    ):
        done = run(tmp_path, "score", "--runs", RUN, "--qrels", QRELS, "--measure", measure)
        assert (done.returncode, words in done.stderr) == (1, True), done.stderr
    (tmp_path / "votes").write_text("q d1 d2 d1\n")
    done = run(
        tmp_path, "resolve", "--judgments", tmp_path / "votes", "--rule", "smith", "--out", tmp_path / "o"
    )
    assert "two packages have a rule smith: prefjudge's own smith, and two-plugin 1.0 (two:R)" in done.stderr


@pytest.mark.parametrize("kind", [str, Path])
def test_a_package_is_found_wherever_the_path_leads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[str] | type[Path]
) -> None:
    """Notebooks put objects of pathlib there."""
    install(tmp_path, "one-plugin", {"prefjudge.measures": {"One": "one:M"}})
    monkeypatch.setattr(sys, "path", [kind(tmp_path), *sys.path])
    assert "One" in Register("measure", object, {})


@pytest.mark.parametrize(
    "register", [FAMILIES, RULES, CROWDS, READERS, TEXT_FORMATS, EXPORTERS], ids=lambda one: one.group
)
def test_ours_are_in_the_registers_that_strangers_fill(register: Register[object]) -> None:
    assert register.ours
    assert set(register) == {*register.ours, *(one.name for one in entry_points(group=register.group))}
    for name in register.ours:
        assert isinstance(register[name], register.kind)
    assert "nobody's" not in register
    with pytest.raises(KeyError):
        register["nobody's"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("RBP(p=1.5)", "p must be a number between 0 and 1, both excluded, not '1.5'"),
        ("Compat(p=-5)", "p must be a number between 0 and 1, both excluded, not '-5'"),
        ("ERR(max=-1)", "max must be a number above 0, not '-1'"),
        ("ERR(max=inf)", "max must be a number above 0, not 'inf'"),
        ("nDCG(dcg=log10)@5", "dcg must be 'log2' or 'exp-log2', not 'log10'"),
    ],
)
def test_a_parameter_beyond_its_bounds_is_refused_with_what_it_takes(text: str, fault: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"measure {text!r}: {fault}")) as refused:
        Measure.parse(text)
    assert refused.value.hint.startswith("By default it is ")


@pytest.mark.parametrize("suffix", [".json", ".JSON", ".json.gz"])
def test_json_of_ranx_and_pytrec_eval_is_a_run_or_qrels(tmp_path: Path, suffix: str) -> None:
    import gzip

    def write(name: str, content: object) -> Path:
        path, data = tmp_path / f"{name}{suffix}", json.dumps(content).encode()
        path.write_bytes(gzip.compress(data) if suffix.endswith("gz") else data)
        return path

    scores: dict[str, dict[str, float]] = {}
    for line in RUN.read_text().splitlines():
        query, _, doc, _, value, _ = line.split()
        scores.setdefault(query, {})[doc] = float(value)
    grades: dict[str, dict[str, int]] = {}
    for line in QRELS.read_text().splitlines():
        query, _, doc, grade = line.split()
        grades.setdefault(query, {})[doc] = int(grade)
    run_file, qrels_file = write("lexical", scores), write("labels", grades)

    def board(runs: Path, qrels: Path) -> list[float]:
        return [row.score for row in score(runs=runs, qrels=qrels).leaderboards[0].rows]

    assert board(run_file, qrels_file) == board(RUN, QRELS)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"q1": {"d1": 1.5}', "is not JSON"),
        ('{"q1": {"d1": 1.5}, "q2": 3}', "query 'q2' has no object of documents"),
        ('{"q1": {"d1": "high"}}', "document 'd1': \"high\" is not a number"),
        ('{"q1": {"d1": true}}', "document 'd1': true is not a number"),
        ('{"q1": {"d 1": 1.5}}', "the id 'd 1' is empty or holds a blank"),
    ],
)
def test_what_is_wrong_with_json_is_said(tmp_path: Path, text: str, fault: str) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(InputError, match=re.escape(fault)) as refused:
        score(runs=tmp_path / "run.json", qrels=QRELS)
    assert str(tmp_path / "run.json") in refused.value.message
    assert refused.value.hint
