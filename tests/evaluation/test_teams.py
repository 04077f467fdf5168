from collections.abc import Sequence

import pytest

from prefjudge.evaluation.submissions.affiliations import Aliases, is_near, read_affiliation
from prefjudge.evaluation.submissions.teams import Group, Groups, group_submissions

SEVERAL = {"ETU": "Example Technical University", "Acme": "Acme Works"}


@pytest.mark.parametrize(
    ("name", "people", "institutions"),
    [
        ("Ada Lovelace, and Mary Shelley - Somewhere", ["Ada Lovelace", "Mary Shelley"], ["Somewhere"]),
        ("Ada Lovelace -- Some Lab, The Somewhere Institute", ["Ada Lovelace"], ["Somewhere Institute"]),
        ("Ada Lovelace—Somewhere", ["Ada Lovelace"], ["Somewhere"]),
        ("Ada Lovelace – Somewhere & Elsewhere", ["Ada Lovelace"], ["Somewhere", "Elsewhere"]),
        ("Ada Lovelace@ETU", ["Ada Lovelace"], ["Example Technical University"]),
        (
            "Ada Lovelace (Somewhere), Mary Shelley (ETU)",
            ["Ada Lovelace", "Mary Shelley"],
            ["Somewhere", "Example Technical University"],
        ),
        ("Difference team (Ada Lovelace and Mary Shelley)", ["Ada Lovelace", "Mary Shelley"], []),
        ("Difference team (Ada Lovelace and Mary Shelley) - ETU", ["Ada Lovelace", "Mary Shelley"], ["ETU!"]),
        ("Ada Lovelace (@ada), Engine team", ["Ada Lovelace"], []),
        (
            "(1) Ada Lovelace, (2) Mary Shelley — University of A (1), College B (1, 2), and Acme Lab (2)",
            ["Ada Lovelace", "Mary Shelley"],
            ["University of A", "College B", "Acme Works"],
        ),
        ("Ada Lovelace, Engine Lab, University of A", ["Ada Lovelace"], ["University of A"]),
        ("Ada Lovelace - University of Science and Technology", ["Ada Lovelace"], ["University of Science…"]),
        ("Difference - ETU", [], ["Example Technical University"]),
        ("ETU — Ada Lovelace", ["Ada Lovelace"], ["Example Technical University"]),
        ("Ada-Lovelace,Mary-Shelley", ["Ada-Lovelace", "Mary-Shelley"], []),
        ("Lovelace, Shelley, and Byron", [], []),
        ("Institute of Engines, Acme", [], ["Acme Works"]),
        ("Ada Lovelace - Engine Lab in ETU", ["Ada Lovelace"], ["Example Technical University"]),
        (
            "Ada Lovelace - Institute for Research in Looms",
            ["Ada Lovelace"],
            ["Institute for Research in Looms"],
        ),
    ],
)
def test_people_and_institutions_are_read_out_of_a_name(
    name: str, people: Sequence[str], institutions: Sequence[str]
) -> None:
    short = {"University of Science…": "University of Science and Technology"}
    short["ETU!"] = SEVERAL["ETU"]
    found = read_affiliation(name, Aliases({}, SEVERAL))
    assert list(found.people) == list(people)
    assert [target for _, target in found.institutions] == [short.get(name, name) for name in institutions]


def teams(*names: str) -> list[list[str]]:
    """Return which names, given by letters, are one team."""
    grouped = group_submissions([(chr(97 + at), name) for at, name in enumerate(names)])
    return sorted(list(team.submissions) for team in grouped.teams)


def test_names_that_share_people_are_one_team() -> None:
    assert teams("Ada Lovelace - Somewhere", "Ada Lovelace*", "Grace Hopper - Somewhere") == [
        ["a", "b"],
        ["c"],
    ]
    assert teams("Difference team (Ada Lovelace, Mary Shelley)", "Ada Lovelace") == [["a", "b"]]
    assert teams("Ada Lovelace -- Somewhere", "Ada Lovelace - Somewhere") == [["a", "b"]]


def test_a_person_does_not_pull_other_institutions_submissions() -> None:
    assert teams("Ada Lovelace - Somewhere", "Ada Lovelace - Elsewhere") == [["a"], ["b"]]
    assert teams("Ada Lovelace - Somewhere", "Ada Lovelace", "Ada Lovelace - Elsewhere") == [
        ["a"],
        ["b"],
        ["c"],
    ]
    joint = "Ada Lovelace, Mary Shelley - Somewhere & Elsewhere"
    assert teams("Ada Lovelace - Somewhere", "Mary Shelley - Elsewhere", joint) == [["a", "c"], ["b"]]
    couple = "Mary Shelley and Grace Hopper - Elsewhere"
    joint = "Ada Lovelace, Mary Shelley, Grace Hopper - Somewhere & Elsewhere"
    assert teams("Ada Lovelace - Somewhere", couple, joint) == [["a"], ["b", "c"]]


def test_a_wide_collaboration_does_not_tie_all_its_members() -> None:
    wide = "(1) Ada Lovelace, (2) Mary Shelley, (3) Grace Hopper, (4) Emmy Noether — Somewhere (1,2)"
    smaller = "Grace Hopper, Alan Turing, and Kurt Goedel"
    assert teams(wide, smaller, "Kurt Goedel, and Alan Turing") == [["a"], ["b", "c"]]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Ada Lovelace - Somewhere", "Ada Lovelance - Somewhere", True),
        ("Ada Lovelace - Somewhere", "Ada K. Lovelace - Somewhere", True),
        ("Ada Lovelace - Somewhere", "A. Lovelace - Somewhere", True),
        ("Ada Lovelace - Somewhere", "Aba Lovelace - Somewhere", False),
        ("Ada Lovelace - Somewhere", "Ada Lovelace - Somewere", True),
        ("Ada Lovelace", "Ada Lovelance", False),
        ("Ada Lovelace", "A. Lovelace", False),
        ("Bread&Butter", "Bread&Buttter", True),
        ("Buttery", "Butttery", True),
        ("Ada Lovelace", "ADA Lovelace", True),
        ("NLP 1", "NLP 2", False),
    ],
)
def test_near_spellings(one: str, other: str, same: bool) -> None:
    assert (len(teams(one, other)) == 1) is same


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [
        ("Lovelace", "Lovelave", True),
        ("Lovelace", "Lvoelace", True),
        ("Lovelace", "Lovelac", True),
        ("Lovelace", "Loveace", True),
        ("Lovelace", "Lovlcae", False),
        ("Wang", "Wong", False),
        ("Model12", "Model13", False),
        ("Ada Lovelace", "Lovelace", False),
        ("Grace Hopper", "Grave Hoppers", False),
    ],
)
def test_spellings_are_near_by_one_letter_of_a_long_word(one: str, other: str, near: bool) -> None:
    assert is_near(one, other) is near
    assert is_near(other, one) is near


def grouped(aliases: dict[str, str] | None = None, **options: bool) -> Groups:
    entries = [
        ("20210101-abc", "Ada Lovelace - Acme Research"),
        ("20210201-b", "Some people"),
        ("20210301-q", "Mary Shelley and Ada Lovelace - Acme, ETU"),
        ("20210401-r", "anonymous"),
        ("20210402-s", "Anonymous"),
        ("20210501-t", "ETU"),
    ]
    return group_submissions(entries, aliases=aliases, institutions=SEVERAL, **options)


def by_name(groups: Sequence[Group]) -> dict[str, Group]:
    return {group.name: group for group in groups}


def test_every_merge_says_why() -> None:
    ada = grouped().teams[0]
    assert ada.submissions == ("20210101-abc", "20210301-q")
    (merge,) = ada.merges
    assert (merge.name, merge.into) == (ada.names[1], ada.names[0])
    assert merge.reason == "Ada Lovelace in both"
    acme = by_name(grouped().institutions)["Acme Works"]
    assert [(merge.name, merge.reason) for merge in acme.merges] == [
        ("Acme Research", "Acme Research stands for Acme Works"),
        ("Acme", "Acme stands for Acme Works"),
    ]
    assert [team.merges for team in grouped(merge=False).teams] == [()] * 4


def test_a_joint_submission_counts_at_each_institution_and_an_anonymous_one_at_none() -> None:
    found = grouped()
    assert {group.name: len(group.submissions) for group in found.institutions} == {
        "Acme Works": 2,
        "Example Technical University": 2,
    }
    assert found.anonymous == ("20210401-r", "20210402-s")
    assert found.unplaced == ("20210201-b", *found.anonymous)
    assert not {"anonymous", "Anonymous"} & set(by_name(found.teams))


def test_aliases_name_submissions_teams_people_and_institutions() -> None:
    found = grouped({"20210401-r": "Grace Hopper - ETU", "some PEOPLE": "Ada Lovelace", "ETU": "Acme Works"})
    assert by_name(found.teams)["Grace Hopper - ETU"].submissions == ("20210401-r",)
    assert by_name(found.teams)["Grace Hopper - ETU"].evidence == ("the aliases given",)
    assert "20210201-b" in found.teams[0].submissions
    (acme,) = found.institutions
    assert len(acme.submissions) == 4
    hidden = grouped({"20210301-q": "Anonymous"})
    assert "20210301-q" in hidden.anonymous


def test_ids_tie_only_names_that_can_be_one_team() -> None:
    def at(one: str, other: str) -> int:
        return len(group_submissions([("20210101-abc", one), ("20210202-abc", other)]).teams)

    assert at("Difference", "Engines") == 1
    assert at("Difference - Somewhere", "Engines - Elsewhere") == 2
    assert at("Ada Lovelace", "Mary Shelley") == 2


def test_institutions_spelled_nearly_alike_are_one() -> None:
    found = group_submissions([("a", "Ada Lovelace - Somewhere"), ("b", "Mary Shelley - Somewere")])
    (one,) = found.institutions
    assert one.names == ("Somewhere", "Somewere")
    assert one.evidence == ("nearly the same spelling",)


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ("Ada Lovelace - Somewhere", "ada lovelace, Somewhere", "the same name written differently"),
        ("Bread&Butter", "Bread&Buttter", "nearly the same spelling"),
        ("Ada Lovelace - Somewhere", "Ada Lovelace (Somewhere)", "the same name written differently"),
        ("Ada Lovelace, Mary Shelley", "Ada Lovelace", "Ada Lovelace in both"),
        ("Ada Lovelace - Somewhere", "Ada K. Lovelace - Somewhere", "Ada K. Lovelace for Ada Lovelace"),
        ("Ada Lovelace - Somewhere", "Ada Lovelance - Somewhere", "Ada Lovelance for Ada Lovelace"),
        ("Ada Lovelace - Somewhere", "A. Lovelace - Somewhere", "A. Lovelace for Ada Lovelace"),
        # a name in both says more than one that stands for another
        (
            "Ada Lovelace, Mary Shelley - Somewhere",
            "A. Lovelace, Mary Shelley - Somewhere",
            "Mary Shelley in both",
        ),
    ],
)
def test_a_merge_gives_the_firmest_reason(one: str, other: str, reason: str) -> None:
    (team,) = group_submissions([("a", one), ("b", other)]).teams
    assert [(merge.name, merge.into, merge.reason) for merge in team.merges] == [(other, one, reason)]
    assert team.evidence == (reason,)


def test_half_of_the_smaller_team_in_common_is_enough() -> None:
    two = "Ada Lovelace, Mary Shelley"
    assert teams(two, "Ada Lovelace, Grace Hopper, Emmy Noether") == [["a", "b"]]
    three = "Ada Lovelace, Mary Shelley, Alan Turing"
    assert teams(three, "Ada Lovelace, Grace Hopper, Emmy Noether") == [["a"], ["b"]]


@pytest.mark.parametrize(
    ("team", "unknown"), [("", True), ("()", True), ("Anon.", True), ("ANONYMOUS", True), ("Nobody", False)]
)
def test_who_does_not_say_who_it_is(team: str, unknown: bool) -> None:
    assert group_submissions([("a", team)]).anonymous == (("a",) if unknown else ())


def test_groups_are_ordered_by_size_and_then_by_name() -> None:
    found = group_submissions([("1", "Zoo"), ("2", "Beta"), ("3", "Alpha"), ("4", "Zoo")])
    assert [team.name for team in found.teams] == ["Zoo", "Alpha", "Beta"]


def test_ids_say_which_suffix_ties_them() -> None:
    found = group_submissions([("20210101-Abc_v1", "Difference"), ("20210202-abc-2", "Engines")])
    (merge,) = found.teams[0].merges
    assert (merge.name, merge.into, merge.reason) == ("Engines", "Difference", "ids that end in -abc")
    for one, other in (("ab", "ab"), ("123", "123"), ("abc", "abd")):
        entries = [(f"20210101-{one}", "Difference"), (f"20210202-{other}", "Engines")]
        assert len(group_submissions(entries).teams) == 2


@pytest.mark.parametrize(("words", "person"), [(1, False), (2, True), (4, True), (5, False)])
def test_two_to_four_words_are_a_person(words: int, person: bool) -> None:
    name = " ".join(["Ada", "Mary", "Grace", "Emmy", "Lovelace"][:words])
    assert read_affiliation(name, Aliases({}, {})).people == ((name,) if person else ())


def test_people_in_several_parentheses_are_all_read() -> None:
    found = read_affiliation("Engine team (Ada Lovelace) and Loom team (Mary Shelley)", Aliases({}, {}))
    assert found.people == ("Ada Lovelace", "Mary Shelley")


def test_the_longest_beginning_that_is_known_names_an_institution() -> None:
    aliases = Aliases({}, {"CMU": "Carnegie", "CMU LTI": "Language Technologies"})
    assert [aliases.institution(name) for name in ("cmu", "CMU, LTI Lab", "CMU X", "LTI CMU", "")] == [
        "Carnegie", "Language Technologies", "Carnegie", None, None,
    ]  # fmt: skip


@pytest.mark.parametrize(("other", "near"), [("Lovelaceab", False), ("Lovelacea", True), ("Lovelace", True)])
def test_one_letter_at_the_end_is_near_and_two_are_not(other: str, near: bool) -> None:
    assert is_near("Lovelace", other) is near


@pytest.mark.parametrize(("one", "other", "near"), [("Wangs", "Wongs", True), ("Wang", "Wongs", False)])
def test_words_of_five_letters_are_long_enough_to_be_near(one: str, other: str, near: bool) -> None:
    assert is_near(one, other) is near
