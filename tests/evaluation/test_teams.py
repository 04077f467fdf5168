"""Whose submissions are: by names as printed, and by what a file says that they stand for."""

import pytest

from prefjudge.evaluation.submissions import Group, Groups, group_submissions

ENTRIES = [
    ("20210101-a", "Ada Lovelace - ETU"),
    ("20210201-b", "Some people"),
    ("20210301-c", "ADA Lovelace — Étu."),
    ("20210401-d", "anonymous"),
    ("20210501-e", "Mary Shelley, Acme & ETU"),
]


def counted(groups: tuple[Group, ...]) -> dict[str, tuple[str, ...]]:
    return {group.name: group.submissions for group in groups}


def grouped(*lines: str) -> Groups:
    return group_submissions(ENTRIES, dict(line.split("\t") for line in lines))


def test_without_a_file_names_are_what_they_are_as_printed() -> None:
    found = grouped()
    assert counted(found.teams) == {
        "Ada Lovelace - ETU": ("20210101-a", "20210301-c"),
        "Mary Shelley, Acme & ETU": ("20210501-e",),
        "Some people": ("20210201-b",),
    }
    assert found.teams[0].names == ("Ada Lovelace - ETU", "ADA Lovelace — Étu.")
    assert counted(found.institutions) == {
        "ETU": ("20210101-a", "20210301-c"),
        "Mary Shelley, Acme & ETU": ("20210501-e",),
        "Some people": ("20210201-b",),
    }
    assert found.anonymous == ("20210401-d",)
    assert found.team_of == (
        "Ada Lovelace - ETU",
        "Some people",
        "Ada Lovelace - ETU",
        "",
        found.teams[1].name,
    )


def test_a_file_says_what_submissions_teams_and_institutions_stand_for() -> None:
    found = grouped(
        "20210401-d\tGrace Hopper - ETU", "some PEOPLE\tAnonymous", "etu\tExample University",
        "Mary Shelley, Acme & ETU\tAcme; ETU",
    )  # fmt: skip
    assert counted(found.teams)["Grace Hopper - ETU"] == ("20210401-d",)
    assert counted(found.teams)["Acme; ETU"] == ("20210501-e",)
    assert found.anonymous == ("20210201-b",)
    places = counted(found.institutions)
    assert places["Example University"] == ("20210101-a", "20210301-c", "20210401-d", "20210501-e")
    assert places["Acme"] == ("20210501-e",), "a joint submission counts at each"


def test_nobody_is_taken_for_somebody_else() -> None:
    names = ["Ada Lovelace", "A. Lovelace", "Ada Lovelance", "Ada Lovelace, Mary Shelley", "Lovelace, Ada"]
    assert len(group_submissions([(f"20210101-x{name}", name) for name in names]).teams) == 5


@pytest.mark.parametrize(
    ("team", "unknown"), [("", True), ("()", True), ("Anon.", True), ("ANONYMOUS", True), ("Nobody", False)]
)
def test_who_does_not_say_who_it_is(team: str, unknown: bool) -> None:
    assert group_submissions([("a", team)]).anonymous == (("a",) if unknown else ())


def test_groups_are_ordered_by_size_and_then_by_name() -> None:
    found = group_submissions([("1", "Zoo"), ("2", "Beta"), ("3", "Alpha"), ("4", "Zoo"), ("5", "模型")])
    assert [team.name for team in found.teams] == ["Zoo", "Alpha", "Beta", "模型"]
