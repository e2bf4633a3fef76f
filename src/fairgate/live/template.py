"""Template: the commented ``gate.toml`` to begin with."""

from __future__ import annotations

import json
from collections.abc import Sequence

TEMPLATE = """\
# The gate {name}: what it is for, and how it is served. Start it with: fairgate live serve
# Until its first decision it can be changed: edit this file, then run fairgate live init {name} again.
# After that its tables [gate] to [labels] stay as they are; other rules are another gate, of another name.

[gate]
name = {quoted}
groups = {groups}
learner = "safe-forecast"     # see `fairgate list`; settings after a colon, "ofs:c=0.1"; it begins with a lottery
cost = 1.0                    # of accepting somebody with a bad outcome; a good acceptance is worth 1
store = "cases"               # every application, or "counts": only how many, no application can be looked up,
                              # and every request needs an Idempotency-Key
seed = 0                      # of random choices of the learner
# per_group = "why"           # the reason why groups may have thresholds of their own; without one they may not

[scores]                      # the thresholds to choose from; who scores at least the threshold is accepted
low = 0.0
high = 1.0
steps = 21                    # so many, equally far apart
# grid = [0.25, 0.5, 0.75]    # instead of low, high and steps
# range = [-1.0, 2.0]         # scores that can be true; without it the grid and its own width on each side
# outside = "refuse"          # of another score: refuse its request, "clip" it to the range, or "accept" it

# [subjects]                  # to know people again who ask under a new id, by a pseudonym that you send
# days = 30.0                 # so long a subject keeps its lottery number and its first decision

# [learner]                   # to start from past decisions: name their table here; see docs/guides/history.md

[constraints]                 # any of parity, service, ratio, budget, group-service, opportunity, equalised-odds,
                              # improvement, or a class of yours, "package.module:Class" = setting, which each
                              # command imports only with --allow package.module:Class
parity = 0.10                 # largest gap between the groups' acceptance rates
service = [0.2, 0.9]          # lowest and highest share of everybody that may be accepted

[rounds]                      # a round has one policy; the learner chooses the next when it closes:
people = 200                  # after so many people (a batch is never cut, so it can make a round larger),
# seconds = 86400.0           # after so long, whichever comes first, or, with neither, when it is told to

[start]
mode = "hold"                 # begin with today's threshold; "shadow": your own rule decides and reports;
                              # "learn": the learner decides at once; "approve": a person approves each change
threshold = 0.5               # today's, one of the grid, which a pause also goes back to; [0.5, 0.6] per group
                              # needs per_group

[guards]                      # what no proposal of the learner goes beyond; each use is in the log
# lowest = 0.3                # lowest threshold
# highest = 0.8               # highest threshold
# step = 0.1                  # largest change from what was last played, even if floor asks for more
# floor = 0.1                 # lowest expected acceptance of each group
lotteries = true              # whether a policy may be a lottery; if not, choose safe-search-no-lottery,
                              # as safe-forecast explores by lotteries alone
pause_if_broken = true        # hold once a constraint on decisions is broken, however long the gate has run well
pause_if_changed = true       # hold once outcomes of a group differ from earlier ones by more than the tolerance;
tolerance = 0.1               # scores and acceptance that do so raise a warning
# pause_if_quiet_days = 45.0  # hold once outcomes are awaited and none came for so long
alpha = 0.05                  # probability of a false alarm in a year of rounds
# rounds_a_year = 10000.0     # if not given: by seconds of [rounds] without people, else 10,000

[labels]
due_days = 30.0               # an outcome that is awaited for longer counts as late

[database]
url = {database}
# url = "postgresql://user@host/name"    # a password is better kept in ~/.pgpass than here

[service]
host = "127.0.0.1"            # this machine only; put a proxy with TLS in front before you open it to others
port = 8000
max_body = 8000000            # largest request in bytes
behind_proxy = false          # whether a proxy in front ends TLS and says who asks
log = "text"                  # form of the log's lines on standard error; or "json"
slow_seconds = 1.0            # a request that takes as long is in the log
session_secret = "session.key"    # file of what log-ins are signed with, made at the first start; keep it to yourself
"""


def gate_toml(name: str, groups: Sequence[str], database: str) -> str:
    """Return the text of a ``gate.toml``."""
    quoted, listed = json.dumps(name, ensure_ascii=False), json.dumps(list(groups), ensure_ascii=False)
    comment = "  # a file, seen from here" if "://" not in database else ""
    return TEMPLATE.format(
        name=name, quoted=quoted, groups=listed, database=json.dumps(database, ensure_ascii=False) + comment
    )
