"""Example: a small made-up table and a commented policy file, to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fairgate.errors import InputError
from fairgate.store import prepare_folder, write_text

PEOPLE = 500

CURRENT = 0.4
"""Score from which people of the example were approved."""

POLICY = """\
# What to ask of a threshold. Run it with: fairgate advise --config policy.toml
# Options on the command line win over what is written here.

[data]
file = "applicants.csv"       # CSV, JSON lines, Parquet, Arrow, Excel, zip or DuckDB; as seen from this file
# query = "select * from 'applicants.parquet' where year = 2024"    # instead of a file: SQL for DuckDB,
                              # which is run only with --allow query
score = "risk_score"          # the column a threshold is set on
label = "repaid"              # what came of the person; may be missing for some
group = "sex"                 # groups to be treated alike; ["sex", "race"] crosses two columns
# positive = "yes"            # the label, or ["list", "of labels"], that is good, if labels are not 0 and 1
# descending = true           # if a higher score is worse
# decision = "approved"       # the decision that was made,
# accepted = "yes"            # which of its values means accepted, if they are not 0 and 1, and
# date = "decided_on"         # its day, for the history
# weight = "weight"           # how many people a row stands for
# min_group = 10              # smaller groups are left out
# max_lost = 0.2              # largest share of rows that may be left out

[aims]
cost = 2.0                    # of accepting somebody with a bad label; a good acceptance is worth 1, or:
# benefit = 120.0             # what a good acceptance is worth
# currency = "EUR"            # what cost and benefit are counted in

[constraints]                 # any of parity, service, ratio, budget, group-service, opportunity,
                              # equalised-odds, improvement, or a class of yours, "package.module:Class" = setting,
                              # which is imported only with --allow package.module:Class
parity = 0.10                 # largest gap between the groups' acceptance rates
service = [0.3, 0.8]          # lowest and highest share of everybody that may be accepted

[loop]
# feedback = [0.0, 0.25, 0.5, 0.8]  # how strongly acceptance changes who applies, above -1 and below 1; advice is for
                              # the first; these are looked at if the history does not tell
# current = 0.5               # the threshold in use when the table was made
loops = false                 # also let learners run in the closed loop
seeds = 20
rounds = 1000
seed = 0

[output]
out = "advice"                # folder for the report; as seen from this file
# pdf = true                  # also report.pdf, for a committee to sign: pip install 'fairgate[paper]'
"""


def example_table() -> Any:
    """Return made-up applicants as an Arrow table: the same 500 people every time, approved from a score of 0.4 on.

    >>> example_table().column_names
    ['risk_score', 'repaid', 'sex', 'approved']
    """
    import pyarrow as pa

    rng = np.random.default_rng(20240229)
    sex = rng.random(PEOPLE) < 0.45
    score = 1.0 / (1.0 + np.exp(-rng.normal(np.where(sex, 0.25, 0.35), np.where(sex, 0.8, 1.0))))
    repaid = rng.random(PEOPLE) < 1.0 / (1.0 + np.exp(-6.0 * (score - 0.45)))
    score = np.round(score, 3)
    return pa.table(
        {
            "risk_score": score,
            "repaid": repaid.astype(np.int64),
            "sex": np.where(sex, "f", "m"),
            "approved": (score >= CURRENT).astype(np.int64),
        }
    )


def write_example(folder: Path) -> list[Path]:
    """Write ``policy.toml`` and ``applicants.csv`` into a folder; never over a file that is there."""
    paths = [folder / "policy.toml", folder / "applicants.csv"]
    for path in paths:
        if path.exists():
            raise InputError(f"{path} is there already and is not overwritten: choose another folder or remove it")
    prepare_folder(folder, "folder")
    table = example_table()
    rows = zip(*(table[name].to_pylist() for name in table.column_names), strict=True)
    lines = [",".join(table.column_names), *(",".join(map(str, row)) for row in rows)]
    write_text(paths[0], POLICY)
    write_text(paths[1], "\n".join(lines) + "\n")
    return paths
