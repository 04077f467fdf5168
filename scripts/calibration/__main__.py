"""Is the stated probability that an answer is the best true? ``python scripts/calibration [options]``.

Each cell of a grid (pool size x queries x strategy x noise x error) is simulated: studies of so many queries
are judged, and the answer with the greatest P(best) of each query is held against the truth. Answers are put
into bins by the probability stated. A line has

    n        the answers
    told     the share of studies whose votes tell how many votes are wrong
    stated   the mean probability stated
    right    the share of answers that are the best
    off      the one less the other
    wrong    the weighted calibration error: the mean, over the answers, of |stated - right| in their bin
    chance   what is expected there of statements that are true on average, over so few studies
    worst    |stated - right| in the worst bin of 30 answers or more

Whether an answer is the best is known here, but it is a matter of luck. So what counts as right is its
probability by the same votes for those who know how the crowd errs, and who chooses at random: that needs a
tenth of the answers. The last line holds it against the answers that are the best.

The goals are 0.05 for the weighted error and 0.08 for the worst bin. Where the votes of most studies do not
tell the error, no statement can be right for each error: the goals then hold for all errors together, in the
line "all". ``--brief`` prints a row for each pool and number of queries instead, for a table.

With ``--real FILE ...``, which are independent votes on the same pairs, P(best) of each file's answers is
held against what all files together say of the same answers: on average the two should be equal (off), but
for what chance does to votes on these pairs (+-, from votes drawn anew ``--redraws`` times).

``--votings`` prints another table: how far two votings of one crowd agree (Kendall's tau of their boards),
and what is told of that from a single voting: the means over ten crowds, how far they are off; the deviation
of one study, how many of the crowd's taus lie in the interval (held), and in how many studies the votes tell
how many are wrong (known); how far a board of the truth agrees with the single voting (truth), and what that
tells of it (told). With ``--small`` there are three candidates, eight runs and thirty crowds. With
``--asked`` the votes are those that ``--strategies`` ask for, of ten runs; the first of ``--pools`` counts.

``--compare`` compares runs that are as good as each other, under labels from votes: how often the t test
of `compare` and the tests of `winratio` reject at 5 %, and how often the 95 % interval holds the true
difference.

``--looks`` shows how often `status`, looked at every day, rules out the best run of a leaderboard. With
``--runs 2 3 5`` the leaderboards have so many runs, all equally good; `compare --sequential` looks, too.

``--winners`` shows how many answers the rules of `resolve` find where some workers are careless or worse, and
what is gained by the one that weighs workers.

``--shapes`` shows what P(best) says, and how many answers are right, where strengths are not as it expects:
answers form classes, two are equal, or tastes go in circles; and of those told with .9 or more how many are
right, and how often `resolve` says that the votes do not fit.

``--costs`` holds plans against studies of four crowds: how often one costs no more than 19 of 20 are to, and
finds as many answers as nine of ten. With a single one of ``--errors`` that is known.

``--choices`` holds questions of three and four passages against pairs, by the time and by the choices.

``--examples`` shows what studies of 3, 50 and 500 queries say, and would say again.

Votes come from ``--workers`` workers in each study, who are known to P(best) by name; of the noise ``spam``
three in ten choose at random. With ``--workers 0`` votes have no names. Of the noise ``usual`` each study has
another crowd, drawn from what P(best) expects before any vote, whatever the error: there it should be exactly
true, so that a line that is off shows a fault of the computation, and a line of a given crowd that is off
beside it shows what the votes do not tell of that crowd.
"""

import argparse
import os
import sys
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from cells import NOISES, Design, join
from choices import table as choices
from comparisons import table as comparisons
from costs import STRATEGIES as PLANNED
from costs import table as costs
from examples import table as examples
from looks import equal_table
from looks import table as looks
from real import compare_files
from rows import FORM, GOAL, HEAD, WORST, brief, rows_of
from shapes import table as shapes
from votings import ASKED, SMALL, USUAL, table
from winners import table as winners

from prefjudge.core.planning.rounds import parse_strategy


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python scripts/calibration",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_options(parser)
    options = parser.parse_args()
    grid = ASKED if options.asked else SMALL if options.small else USUAL
    options.pools = options.pools or ([ASKED.pool] if options.asked else [2, 5, 8])
    options.queries = options.queries or ([*ASKED.queries] if options.asked else [5, 50])
    options.studies = options.studies or (grid.studies if options.votings else 200)
    options.strategies = options.strategies or ([*PLANNED] if options.costs else ["round-robin:1", "sure:80"])
    check(parser, options)
    if options.looks and options.runs:
        for line in equal_table(options.runs, options.studies, options.seed):
            print(line, flush=True)
        return 0
    others = {
        "compare": comparisons,
        "looks": looks,
        "winners": winners,
        "examples": examples,
        "shapes": shapes,
        "costs": partial(
            costs,
            strategies=options.strategies,
            known=options.errors[0] if len(options.errors) == 1 else 0.0,
        ),
        "choices": choices,
    }
    for of_studies in [other for name, other in others.items() if getattr(options, name)]:
        for line in of_studies(options.studies, options.seed):
            print(line, flush=True)
        return 0
    if options.votings:
        if options.asked:
            grid = replace(grid, pool=options.pools[0], queries=tuple(options.queries))
        grid = replace(grid, studies=options.studies)
        for line in table(options.seed, grid, options.strategies if options.asked else ()):
            print(line, flush=True)
        return 0
    if not options.only_real:
        simulated(options)
    if options.real:
        print(compare_files(options.real, np.random.default_rng(options.seed), options.redraws))
    return 0


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--pools", type=int, nargs="+", metavar="K", help="2 5 8 by default, or 5 asked")
    parser.add_argument("--queries", type=int, nargs="+", metavar="N", help="in each study (5 50)")
    parser.add_argument("--strategies", nargs="+", metavar="NAME", help="round-robin:1 sure:80")
    parser.add_argument("--noises", nargs="+", default=["bradley-terry"], choices=sorted(NOISES))
    parser.add_argument("--errors", type=float, nargs="+", default=[0.2, 0.33, 0.4], metavar="SHARE")
    parser.add_argument("--workers", type=int, default=10, help="in each study; 0: votes have no names")
    parser.add_argument("--answers", type=int, default=1000, help="queries to simulate for each cell")
    parser.add_argument("--seed", type=int, default=2021)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--brief", action="store_true", help="a row for each pool and number of queries")
    parser.add_argument("--real", type=Path, nargs="+", default=[], metavar="FILE", help="judgments")
    parser.add_argument("--redraws", type=int, default=40, help="of the real votes")
    parser.add_argument("--only-real", action="store_true", help="no simulation")
    parser.add_argument("--votings", action="store_true", help="the table of how far votings agree instead")
    parser.add_argument("--small", action="store_true", help="with --votings: small pools, few runs")
    parser.add_argument("--asked", action="store_true", help="with --votings: by the strategies")
    parser.add_argument("--compare", action="store_true", help="the table of false differences instead")
    parser.add_argument("--looks", action="store_true", help="the table of daily looks instead")
    parser.add_argument("--runs", type=int, nargs="+", default=[], metavar="N", help="with --looks")
    parser.add_argument(
        "--winners", action="store_true", help="the table of right winners by each rule instead"
    )
    parser.add_argument("--examples", action="store_true", help="the table of three sizes of studies instead")
    parser.add_argument("--shapes", action="store_true", help="the table of crowds of other shapes instead")
    parser.add_argument("--choices", action="store_true", help="the table of questions of several passages")
    parser.add_argument("--costs", action="store_true", help="the table of what plans say of costs instead")
    parser.add_argument("--studies", type=int, help="for each line of a table (200; of votings 10 to 30)")


def simulated(options: argparse.Namespace) -> None:
    """Print the rows of the grid as they are found, and draw them."""
    grid = product(options.pools, options.queries, options.strategies, options.noises)
    designs = [
        Design(pool=pool, queries=queries, strategy=strategy, noise=noise, workers=options.workers)
        for pool, queries, strategy, noise in grid
    ]
    rows = []
    if not options.brief:
        print(FORM.format(*HEAD), flush=True)
    for row in rows_of(designs, options.errors, options.answers, options.seed, options.processes):
        if not options.brief:
            print(row, flush=True)
        rows.append(row)
    if options.brief:
        print("\n".join(brief(rows)))
    judged = [row for row in rows if row.judged]
    failed = sum(row.missed for row in judged)
    print(f"cells that miss the goals ({GOAL:g} on average, {WORST:g} in a bin): {failed} of {len(judged)}")
    every = join([row.answers for row in rows if row.error is not None])
    best, known = every.right.mean(), every.known.mean()
    print(
        f"of {every.right.size} answers {best:.4f} are the best, and {known:.4f} by those who know the crowd"
    )


def check(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Refuse what cannot be simulated before anything is."""
    if min(options.pools) < 2 or min(options.queries) < 1 or min(options.answers, options.studies - 1) < 1:
        parser.error("a pool has two candidates or more; there is one query, and one answer, or more")
    if not (options.workers == 0 or options.workers >= 2):
        parser.error("there are two workers or more, or 0: votes without names")
    if not all(0.0 < error < 0.5 for error in options.errors):
        parser.error("a share of wrong votes lies between 0 and 0.5")
    if options.processes < 1 or options.redraws < 2:
        parser.error("there is one process or more, and there are two redraws or more")
    for name in options.strategies:
        try:
            parse_strategy(name)
        except ValueError as problem:
            parser.error(str(problem))
    if options.runs and (not options.looks or min(options.runs) < 2):
        parser.error("--runs is for --looks, of two runs or more")
    if (options.small or options.asked) and not options.votings:
        parser.error("--small and --asked are for --votings")
    for path in options.real:
        if not path.is_file():
            parser.error(f"there is no file {path}")


if __name__ == "__main__":
    sys.exit(main())
