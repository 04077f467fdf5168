"""The page of a report, from its parts."""

from prefjudge.pages.page import Change, FirstScreen, Passage, Section, of_one_kind, report_page


def test_texts_are_escaped_and_bytes_that_are_no_text_are_spelt_out() -> None:
    page = report_page(
        "caf\udce9 <b>", FirstScreen(result="<i>"), [Section(heading="<u>")], ["/tmp/\udcff.txt is gone"]
    )
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
        return report_page("t", FirstScreen(result="r"), [Section(heading="Best answers", changes=(change,))])

    assert "Preferred <bdi>d2</bdi>: 1 vote<" in shown(1)
    assert "No vote compares the two" not in shown(1)
    assert "0 votes" not in shown(0)
    assert "No vote compares the two" in shown(0)
    said = "The votes between the two alone would not decide it"
    assert [said in shown(*votes) for votes in ((0, 1), (1, 1), (2, 1), (0, 0))] == [True, True, False, False]


def test_notices_of_one_kind_are_one_thing_to_know() -> None:
    few = ["RR@10 a: 2 runs with few hits (x 5, y 14): little", "RR@10 b: 7 runs with few hits (z 1): little"]
    assert of_one_kind([few[0], "ties: in 3 runs", few[1]]) == [few, ["ties: in 3 runs"]]
    page = report_page("t", FirstScreen(result="r"), [], few)
    assert "1 thing to know" in page
    assert page.count("<li>") == 1
