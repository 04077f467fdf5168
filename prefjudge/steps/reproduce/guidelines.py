"""The TREC 2020 Deep Learning guidelines: files and formats to check, no results to reproduce."""

from prefjudge.steps.reproduce.exhibits import Exhibit, Paper

GUIDELINES = Paper(
    name="trec-2020-deep-learning-guidelines",
    citation="TREC 2020 Deep Learning Track Guidelines. https://microsoft.github.io/msmarco/TREC-Deep-Learning-2020",
    lead="Are the files of the track complete, and does a run have the track's format? Use `check`.",
    own="The list of the files comes with prefjudge.",
    exhibits=(
        Exhibit(
            name="Document and passage data sets",
            shows="the files of both data sets: sizes, numbers of records and MD5 sums",
            reading="Each file in the folder is named as equal to the list, different, or absent.",
            command="prefjudge check --manifest trec-dl-2020 FOLDER",
        ),
        Exhibit(
            name="Submission format",
            shows="what a run holds: columns, tag, order, ties, depth, and missing queries",
            reading="The track takes six columns and up to 100 documents or 1,000 passages a query.",
            command="prefjudge check RUNFILE --qrels QRELS",
        ),
        Exhibit(
            name="Evaluation",
            shows="the track's measures",
            reading="Reciprocal rank is over sparse labels, nDCG@10 and NCG over those of NIST.",
            command=(
                "prefjudge score --runs 'runs/*' --qrels QRELS --measure nDCG@10 --measure RR "
                "--measure NCG@100"
            ),
        ),
    ),
)
