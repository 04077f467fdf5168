"""Objects of stores and web servers are read as files are; faults pass, and addresses tell no secret."""

import gzip
import shutil
from collections.abc import Callable, Iterator
from email.utils import formatdate
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import prefjudge
from prefjudge.core.runs import Order
from prefjudge.errors import InputError
from prefjudge.findings.findings import digesting
from prefjudge.reading import remote
from prefjudge.reading.given import expand
from prefjudge.reading.lines import Holds, whole_lines
from prefjudge.reading.opened import reading
from prefjudge.reading.runs import copies
from prefjudge.reading.unpacking import digest, opened
from tests.formats.store import Proxy, after, busy, cut, silent

DEMO = Path(prefjudge.__file__).parent / "demo"
LINES = b"".join(b"x%d Q0 d%d 1 1.5 r\n" % (n, n) for n in range(36_000))  # several requests long
SECRETS = ("s3cret", "pa/ss", "AKIA", "abc123")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    for package in ("s3fs", "moto.server"):
        pytest.importorskip(package, reason="reads objects: pip install 'prefjudge[dev]'")
    import boto3
    import fsspec
    from moto.server import ThreadedMotoServer

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "AKIA")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        server.start()
        port = server.get_host_and_port()[1]
        proxy = Proxy(port)
        patch.setenv("AWS_ENDPOINT_URL_S3", proxy.origin)
        patch.setattr(remote, "PAUSES", (0.001,) * 4)
        client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}")
        client.create_bucket(Bucket="runs")
        remote._file_system.cache_clear()
        yield SimpleNamespace(
            proxy=proxy, put=partial(client.put_object, Bucket="runs", ACL="public-read"), client=client
        )
        proxy.shutdown()
        proxy.server_close()
        server.stop()
        remote._file_system.cache_clear()
        fsspec.get_filesystem_class("s3").clear_instance_cache()


@pytest.fixture
def long(store: Any) -> Any:
    store.put(Key="long.txt", Body=LINES)
    store.proxy.faults.clear()
    store.proxy.asked.clear()
    return store


def read(address: str) -> bytes:
    return b"".join(whole_lines(address, Holds.COLUMNS))


def test_verbs_take_objects_wherever_they_take_files(store: Any, tmp_path: Path) -> None:
    names = [path.name for path in sorted((DEMO / "runs").glob("*.txt"))[:3]]
    for name in names:
        store.put(Key=f"{name}.gz", Body=gzip.compress((DEMO / "runs" / name).read_bytes(), mtime=0))
    for name in ("qrels.txt", "queries.tsv", "collection.tsv"):
        store.put(Key=name, Body=(DEMO / name).read_bytes())
    here = prefjudge.pool(
        runs=[DEMO / "runs" / name for name in names],
        qrels=DEMO / "qrels.txt",
        queries=DEMO / "queries.tsv",
        collection=DEMO / "collection.tsv",
        out=tmp_path / "here.tsv",
    )
    there = prefjudge.pool(
        runs=[f"s3://runs/{name}.gz" for name in names],
        qrels="s3://runs/qrels.txt",
        queries=f"{store.proxy.origin}/runs/queries.tsv",
        collection="s3://runs/collection.tsv",
        out=tmp_path / "there.tsv",
    )
    assert (tmp_path / "here.tsv").read_bytes() == (tmp_path / "there.tsv").read_bytes()
    assert (here.runs, here.sizes) == (there.runs, there.sizes)
    scored = prefjudge.score(runs=[f"s3://runs/{names[0]}.gz"], qrels=["nist=s3://runs/qrels.txt"])
    head = store.client.head_object(Bucket="runs", Key="qrels.txt")
    assert scored.inputs[1].digest == "etag:" + head["ETag"].strip('"')
    assert scored.inputs[1].path == "s3://runs/qrels.txt"


@pytest.mark.parametrize("faults", [[cut], [busy, busy], [None, cut, cut], [cut, None, silent]])
@pytest.mark.parametrize("web", [False, True])
def test_a_fault_passes_and_no_byte_is_lost(
    long: Any, monkeypatch: pytest.MonkeyPatch, faults: list[Any], web: bool
) -> None:
    if silent in faults:
        monkeypatch.setattr(remote, "PATIENCE", 0.3)
    long.proxy.faults += faults
    assert read(f"{long.proxy.origin}/runs/long.txt" if web else "s3://runs/long.txt") == LINES
    assert not long.proxy.faults or web


def test_what_a_web_server_packs_is_unpacked_and_read_to_its_end(long: Any) -> None:
    """It was asked not to; where the packed data ends early, no client library says so."""
    address = f"{long.proxy.origin}/runs/long.txt"
    long.proxy.pack = gzip.compress
    assert read(address) == LINES
    long.proxy.pack = lambda data: gzip.compress(data)[:-20]
    with pytest.raises(InputError, match="gz data ends before its end"):
        read(address)
    long.proxy.pack = None


def test_a_pattern_matches_objects_of_a_store(long: Any) -> None:
    """Only * stands for others: a key may hold the other signs of patterns."""
    for key in ("some/a[1]?.txt", "some/a1x.txt", "some/b.txt", "other/b.txt"):
        long.put(Key=key, Body=b"q1 Q0 d1 1 1 %s\n" % key.encode().replace(b"/", b"-"))
    assert expand(["s3://runs/some/*.txt"]) == tuple(
        f"s3://runs/some/{name}.txt" for name in ("a1x", "a[1]?", "b")
    )
    assert expand(["s3:/runs/*/a[1]?*", "s3://runs/long.txt"]) == (
        "s3://runs/some/a[1]?.txt",
        "s3://runs/long.txt",
    )
    with pytest.raises(InputError, match=r"no file matches s3://runs/none/\*"):
        expand(["s3://runs/none/*"])
    assert prefjudge.pool(runs=["s3://runs/some/b*"]).runs == ("some-b.txt",)


def test_objects_of_google_cloud_storage_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    server_of = pytest.importorskip("gcp_storage_emulator.server", reason="pip install 'prefjudge[dev]'")
    monkeypatch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")  # asks other hosts what a bucket is
    pytest.importorskip("gcsfs", reason="reads objects: pip install 'prefjudge[remote]'")
    server = server_of.create_server("127.0.0.1", 0, in_memory=True, default_bucket="runs")
    server.start()
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{server._api._httpd.server_port}")
    remote._file_system.cache_clear()
    try:
        files = remote._file_system("gs", remote.PATIENCE)
        files.pipe_file("runs/a b.txt.gz", gzip.compress(LINES))
        (address,) = expand(["gs://runs/a*"])
        assert read(str(address)) == LINES
        assert digest(address).startswith("etag:")
        with pytest.raises(InputError, match=r"gs://runs/none\.txt: there is no such object"):
            read("gs://runs/none.txt")
    finally:
        server.stop()
        remote._file_system.cache_clear()


@pytest.mark.parametrize("web", [False, True])
def test_tries_are_counted(long: Any, web: bool) -> None:
    long.proxy.faults += [busy] * 100
    with pytest.raises(InputError, match=r"even after 4 more tries"):
        read(f"{long.proxy.origin}/runs/long.txt" if web else "s3://runs/long.txt")
    assert len(long.proxy.asked) < 25


def test_what_is_gone_or_changed_is_said(long: Any) -> None:
    with pytest.raises(InputError, match=r"s3://runs/none\.txt: there is no such object"):
        read("s3://runs/none.txt")
    long.proxy.faults.append(after(lambda: long.client.delete_object(Bucket="runs", Key="long.txt")))
    with pytest.raises(InputError, match="there is no such object"):
        read("s3://runs/long.txt")
    for faults in ([], [cut]):
        long.put(Key="long.txt", Body=LINES)
        changed = after(lambda: long.put(Key="long.txt", Body=LINES.replace(b"1.5", b"2.5")))
        long.proxy.faults += [changed, *faults]
        with pytest.raises(InputError, match=r"long\.txt changed while it was read"):
            read("s3://runs/long.txt")


def test_an_object_that_changes_between_two_readings_is_said(long: Any) -> None:
    long.put(Key="qrels.txt", Body=(DEMO / "qrels.txt").read_bytes())
    long.put(Key="run.txt", Body=(DEMO / "runs" / "lexical.txt").read_bytes())
    other = after(lambda: long.put(Key="qrels.txt", Body=b"q01 0 p1 1\n"))
    long.proxy.faults += [None, other]
    with pytest.raises(InputError, match="changed while it was read"):
        prefjudge.score(runs=["s3://runs/run.txt"], qrels=["s3://runs/qrels.txt"])


class ReplacedAt(list[str]):
    """What a proxy was asked, which replaces an object before it passes on one of the requests."""

    def __init__(self, place: int, replace: Callable[[], object]) -> None:
        super().__init__()
        self.place, self.replace = place, replace

    def append(self, request: str) -> None:
        if len(self) == self.place:
            self.replace()
        super().append(request)


@pytest.mark.parametrize("known", [False, True])
def test_a_run_replaced_at_any_moment_is_read_whole_or_refused(
    long: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, known: bool
) -> None:
    """The old one may have a copy. Rows, copy and digest are those of one of the two, never a mixture."""
    bodies = [(DEMO / "runs" / f"{name}.txt").read_bytes() for name in ("lexical", "reranker-large")]
    run, cache = "s3://runs/run.txt", tmp_path / "prefjudge" / "runs"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(copies, "WORTH", 1)

    def asked() -> tuple[list[str], str]:
        with digesting([("run", run)]) as digests, reading([run], Order.SCORE, []) as reader:
            heads = reader.top(1)
            return [heads.docs[doc] for doc in heads.doc], digests()[0].digest

    def kept_runs() -> dict[str, bytes]:
        """Return whose run is under each key."""
        return {folder.name: copies.Copy(folder, folder.name).tag for folder in cache.glob("*")}

    whole = []
    for body in bodies:
        long.put(Key="run.txt", Body=body)
        whole.append(asked())
    assert whole[0][0] != whole[1][0]
    kept, ended = kept_runs(), set()
    for place in range(40):
        if "old" in ended:  # it was replaced once nothing was asked any more
            break
        if not known:
            shutil.rmtree(cache)
        long.put(Key="run.txt", Body=bodies[0])
        replace = partial(long.put, Key="run.txt", Body=bodies[1])
        monkeypatch.setattr(long.proxy, "asked", ReplacedAt(place, replace))
        try:
            found = asked()
        except InputError as error:
            ended.add(str(error).partition("\n")[0])
        else:
            assert found in whole
            ended.add("old" if found == whole[0] else "new")
        assert kept_runs().items() <= kept.items()
    assert ended == {"old", "new", f"{run} changed while it was read"}


def test_only_what_is_named_is_fetched_and_a_look_is_small(long: Any) -> None:
    with opened("s3://runs/long.txt") as file:
        assert not long.proxy.asked
        assert file.read(10) == LINES[:10]
    assert [line for line in long.proxy.asked if line.startswith("GET")] == ["GET /runs/long.txt"]
    assert {line.split()[1] for line in long.proxy.asked} == {"/runs/long.txt"}
    assert digest("s3://runs/long.txt").startswith("etag:")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("https://me:s3cret@host/run.txt", "https://host/run.txt"),
        ("https:/me:pa/ss@host:8080/a/run.txt", "https://host:8080/a/run.txt"),
        ("https://host/b.txt?X-Amz-Signature=abc123&X=1", "https://host/b.txt?…"),
        ("nist=https://host/c.txt?sig=abc123", "nist=https://host/c.txt?…"),
        ("s3://AKIA:s3cret@bucket/run.gz", "s3://bucket/run.gz"),
        ("s3:/bucket/what?.gz", "s3://bucket/what?.gz"),
        ("https://host:8080/@me/run.txt", "https://host:8080/@me/run.txt"),
        ("runs/a=b.txt", "runs/a=b.txt"),
    ],
)
def test_what_is_shown_of_an_address_holds_no_secret(given: str, said: str) -> None:
    assert remote.without_secrets(given) == remote.without_secrets(remote.without_secrets(given)) == said
    if "host" in said and "=" not in said:
        assert remote.whole(said).replace("://", ":/") == given.replace("://", ":/")
    first, second = (remote.without_secrets(f"https://host/d?key={key}") for key in "ab")
    assert first != second
    assert remote.whole(second) == "https://host/d?key=b"
    kept = remote.kept_addresses([Path("runs/a.txt"), second])
    remote._whole.clear()
    with pytest.raises(InputError, match="was not kept"):
        remote.whole(second)
    assert remote.knowing(kept, remote.whole, second) == "https://host/d?key=b"


def test_no_secret_is_in_a_result_or_an_error(long: Any) -> None:
    long.put(Key="run.txt", Body=(DEMO / "runs" / "lexical.txt").read_bytes())
    host = long.proxy.origin.removeprefix("http://")
    signed = f"http://me:s3cret@{host}/runs/run.txt?X-Amz-Credential=AKIA&sig=abc123"
    said = [repr(prefjudge.score(runs=[signed], qrels=[DEMO / "qrels.txt"]))]
    for wrong in (signed.replace("run.txt", "none.txt"), signed.replace("run.txt", "long.txt")):
        with pytest.raises(InputError) as error:
            prefjudge.score(runs=[wrong], qrels=[DEMO / "qrels.txt"])
        said += [repr(error.value), repr(error.value.__cause__), str(error.value.hint)]
    long.proxy.faults += [busy] * 100
    with pytest.raises(InputError) as error:
        prefjudge.score(runs=[signed], qrels=[DEMO / "qrels.txt"])
    said.append(repr(error.value))
    assert not [secret for secret in SECRETS if any(secret in text for text in said)]


def test_a_missing_package_is_named_with_its_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    remote._file_system.cache_clear()
    monkeypatch.setattr(remote, "import_module", missing)
    for scheme, package in (("s3", "s3fs"), ("gs", "gcsfs"), ("az", "adlfs"), ("https", "aiohttp")):
        with pytest.raises(InputError, match=f"needs the package {package}") as error:
            read(f"{scheme}://place/run.txt")
        assert "pip install 'prefjudge[remote]'" in error.value.hint
    remote._file_system.cache_clear()


def test_qrels_in_parquet_are_read_from_a_store(long: Any, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra parquet)")
    import pyarrow.parquet as pq

    path = tmp_path / "q.parquet"
    query, _, doc, _ = zip(*map(str.split, (DEMO / "qrels.txt").read_text().splitlines()), strict=True)
    table = {"query-id": list(query), "corpus-id": list(doc), "score": [1.0] * len(doc)}
    pq.write_table(pa.table(table), path)
    long.put(Key="q.parquet", Body=path.read_bytes())
    there, here = (
        prefjudge.score(runs=[DEMO / "runs" / "lexical.txt"], qrels=[f"q={one}"])
        for one in ("s3://runs/q.parquet", path)
    )
    assert repr(there.leaderboards) == repr(here.leaderboards)  # from Python 3.13 on NaN is not NaN
    long.put(Key="q.parquet", Body=path.read_bytes()[:-9])
    with pytest.raises(InputError, match=r"^s3://runs/q\.parquet cannot be read as Parquet") as error:
        prefjudge.score(runs=[DEMO / "runs" / "lexical.txt"], qrels=["q=s3://runs/q.parquet"])
    assert "object.parquet" not in str(error.value)


def test_an_address_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of its name would be made here."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"^s3://bucket/study is an address, and this is a folder"):
        prefjudge.init("s3:/me:s3cret@bucket/study")
    assert not list(tmp_path.iterdir())


def test_a_copy_is_known_by_the_address_and_its_etag(
    long: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Of what is unchanged only the head is looked at again; what a secret opens leaves no trace."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(copies, "WORTH", 1)
    cache = tmp_path / "prefjudge" / "runs"

    def fetched(address: str) -> int:
        long.proxy.asked.clear()
        prefjudge.pool(runs=[address], depth=2, out=tmp_path / "pool")
        return sum(line.startswith("GET /runs/run.txt") for line in long.proxy.asked)

    address = f"{long.proxy.origin}/runs/run.txt"
    long.put(Key="run.txt", Body=(DEMO / "runs" / "lexical.txt").read_bytes())
    assert fetched("s3://runs/run.txt") == 2
    first = (tmp_path / "pool").read_bytes()
    assert fetched("s3://runs/run.txt") == 1
    assert (tmp_path / "pool").read_bytes() == first
    long.put(Key="run.txt", Body=(DEMO / "runs" / "reranker-large.txt").read_bytes())
    assert fetched("s3://runs/run.txt") == 2
    second = (tmp_path / "pool").read_bytes()
    assert second != first
    kept = {*cache.iterdir()}
    for _ in range(2):
        assert fetched(f"{address}?sig=abc123") == 2
        assert (tmp_path / "pool").read_bytes() == second
    assert {*cache.iterdir()} == kept


@pytest.mark.parametrize(
    ("said", "copied"),
    [
        ({"ETag": '"1-2"', "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT"}, True),
        ({"ETag": '"1-2"'}, True),
        ({"ETag": 'W/"1-2"'}, False),
        ({"size": 17, "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT"}, False),
        ({"ETag": '"1-2"', "Last-Modified": "now"}, False),
        ({"ETag": '"1-2"', "Last-Modified": "of late"}, False),
    ],
)
def test_what_no_lasting_etag_names_is_not_copied(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: dict[str, object], copied: bool
) -> None:
    """A weak one, none, or one that is a time of seconds which are not over yet."""
    if said.get("Last-Modified") == "now":
        said = said | {"Last-Modified": formatdate(usegmt=True)}
    monkeypatch.setattr(remote, "_files", lambda name: (SimpleNamespace(info=lambda *_, **__: said), name))
    own = copies.RunCopies(tmp_path, frozenset(["https://host/run.txt"]), 10**9)
    assert own.find("https://host/run.txt", Order.SCORE) is None
    with own.writer("https://host/run.txt") as writer:
        assert writer.usable == copied


def test_a_run_is_named_by_its_address_as_by_its_file(long: Any) -> None:
    runs = [f"s3://runs/{name}.txt" for name in ("lexical", "reranker-large")]
    for run in runs:
        long.put(Key=Path(run).name, Body=(DEMO / "runs" / Path(run).name).read_bytes())
    result = prefjudge.compare(*runs, qrels=[DEMO / "qrels.txt"], measure=["RR@10"])
    here = prefjudge.compare(
        *(DEMO / "runs" / Path(run).name for run in runs), qrels=[DEMO / "qrels.txt"], measure=["RR@10"]
    )
    assert result.comparisons == here.comparisons
