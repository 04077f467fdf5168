"""The scores of all result lists as a table (Craswell et al., SIGIR 2021, Table 3)."""

from prefjudge.evaluation.scoring.result_lists import ResultLists
from prefjudge.render.text.tables import Column, Table


def result_lists_table(found: ResultLists) -> Table:
    """Return one column for each result list, and its score."""
    names = ["(" + ",".join(map(str, grades)) + ")" for grades in found.lists]
    steps = ", ".join(f"{step:.2f}" for step in found.steps)
    spaced = "equally far apart" if found.equally_spaced else "not equally far apart"
    return Table(
        title="Scores of all result lists",
        columns=(
            Column(name="measure", head="s"),
            *(
                Column(name=f"list_{place}", head=name, kind="number", digits=2)
                for place, name in enumerate(names, 1)
            ),
        ),
        rows=((found.measure, *found.scores),),
        notes=(f"The {len(set(found.scores))} values are {spaced}: the steps are {steps}.",),
    )
