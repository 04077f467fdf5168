"""Reading ahead changes who makes an item, and nothing else."""

import gzip
import threading
from unittest.mock import patch

import pytest

from prefjudge.reading.files import ahead
from prefjudge.reading.runs.runs import read_chunks


@pytest.mark.parametrize("count", [0, 1, 2, 3, 50])
def test_every_item_comes_once_and_in_order(count):
    assert list(ahead(iter(range(count)))) == list(range(count))


def test_the_next_item_is_made_by_a_thread_meanwhile():
    makers = []

    def items():
        for number in range(5):
            makers.append(threading.current_thread())
            yield number

    reading = ahead(items())
    assert [next(reading), next(reading)] == [0, 1]
    assert set(makers) == {threading.main_thread()}
    assert list(reading) == [2, 3, 4]
    assert threading.main_thread() not in makers[2:]


@pytest.mark.parametrize("fails", [0, 1, 2, 7])
def test_an_error_comes_where_its_item_would_have_come(fails):
    def items():
        yield from range(fails)
        raise ValueError("broken")

    reading = ahead(items())
    assert [next(reading) for _ in range(fails)] == list(range(fails))
    with pytest.raises(ValueError, match="broken"):
        next(reading)


def test_nothing_goes_on_when_the_reader_stops():
    before = threading.active_count()
    closed = []

    def items():
        try:
            yield from range(1000)
        finally:
            closed.append(True)

    made = items()
    reading = ahead(made)
    for _ in range(4):
        next(reading)
    reading.close()
    made.close()
    assert closed == [True]
    assert threading.active_count() == before


@pytest.mark.parametrize("packed", [False, True])
def test_a_thread_reads_ahead_only_where_a_run_is_unpacked(tmp_path, packed):
    text = b"".join(b"q%d Q0 d%d 1 1 t\n" % (row, row) for row in range(900))
    (tmp_path / "run").write_bytes(gzip.compress(text) if packed else text)
    with patch("prefjudge.reading.runs.runs.ahead", wraps=ahead) as reading:
        assert sum(map(len, read_chunks(tmp_path / "run", size=100))) == 900
    assert reading.called is packed
