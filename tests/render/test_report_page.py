"""The page of a report, from its parts."""

from prefjudge.pages.page import Change, Passage, Section, report_page


def test_texts_are_escaped_and_bytes_that_are_no_text_are_spelt_out() -> None:
    page = report_page("caf\udce9 <b>", ["<i>"], [Section(heading="<u>")], ["/tmp/\udcff.txt is gone"])
    page.encode("utf-8")
    assert "caf\\xe9 &lt;b&gt;" in page
    assert "/tmp/\\xff.txt is gone" in page
    assert not {"<b>", "<i>", "<u>"} & {*page.split()}


def test_two_passages_that_never_met_have_no_votes() -> None:
    def shown(votes: int, labelled: int = 0) -> str:
        change = Change(
            query="q1",
            text="",
            labelled=Passage(doc="d1", text="one", votes=labelled),
            best=Passage(doc="d2", text="two", votes=votes),
        )
        return report_page("t", [], [Section(heading="Best answers", changes=(change,))])

    assert "Preferred <bdi>d2</bdi>: 1 vote<" in shown(1)
    assert "No vote decides" not in shown(1)
    assert "0 votes" not in shown(0)
    assert "No vote decides between the two" in shown(0)
    said = "Not by the votes between the two alone"
    assert [said in shown(*votes) for votes in ((0, 1), (1, 1), (2, 1), (0, 0))] == [True, True, False, False]
