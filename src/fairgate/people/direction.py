"""Direction: which label is the good one, and whether a high score is; asked for where names leave it open.

The commonest table has the probability of default as score and default = 1 as label. Taken as it is, 1 would count as
good, scores and labels would agree, and the likeliest defaulters would be accepted without a word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from fairgate.errors import InputError
from fairgate.people.values import DECISIONS, in_words, is_true, natural

_WORDS = """
    bad default defaults defaulted defaulter defaulting chargeoff chargedoff writeoff writtenoff delinquent
    delinquency dlq dlqin arrears overdue late npl nonperforming loss losses lost bankrupt bankruptcy
    insolvent insolvency foreclosed foreclosure repossessed fraud fraudulent scam recid recidivism recidivist
    recidivated reoffend reoffended reoffense rearrest rearrested arrest arrested convicted conviction crime
    violent churn churned attrition fired dropout dropped fail fails failed failure death dead died dies
    deceased mortality complaint
"""

_REJECTIONS = """
    denied denial deny denies declined declines decline declination rejected rejects reject rejection refused refuses
    refuse refusal turndown turneddown disapproved unapproved unsuccessful ineligible excluded dismissed blocked
"""

REJECTED = frozenset(_REJECTIONS.split())
"""Words by which a 1, or a yes, means that somebody was not accepted."""

ACCEPTED = frozenset(("accepted", "accept", "approved", "approve", "granted", "offered", "admitted", "hired"))
"""Words that mean the same after one of `NOT`: ``not_approved``."""

BAD = frozenset(_WORDS.split()) | REJECTED
"""Words that name an outcome nobody accepts people for. They count as whole parts of a name: ``loan_default``,
``SeriousDlqin2yrs`` and ``default.payment.next.month`` have one, ``late_fee`` too, ``latest`` has none."""

PAIRS = frozenset(
    (
        *("charge off", "charged off", "write off", "written off", "past due", "drop out", "re arrest", "re offend"),
        *("turned down", "turn down"),
    )
)
"""The same in two parts of a name."""

NOT = frozenset(("no", "non", "not", "never", "without", "un"))
"""Words that turn the meaning round: ``no_default`` is good."""

RISKY = BAD | {"pd"}
"""Words by which a score is a probability of a bad outcome; not risk, which is used both ways."""


HARDLY, MUCH = 0.05, 5.0
"""Share of the accepted, and of all labels, below which the accepted have hardly any; how much more the rejected do."""


def parts(name: str) -> list[str]:
    """Split a name into its words.

    >>> parts("SeriousDlqin2yrs"), parts("default.payment_next"), parts("isBad")
    (['serious', 'dlqin', 'yrs'], ['default', 'payment', 'next'], ['is', 'bad'])
    """
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def sounds_bad(name: str, words: frozenset[str] = BAD) -> bool:
    """Whether a name speaks of a bad outcome.

    >>> [sounds_bad(name) for name in ("two_year_recid", "Charged Off", "no_default", "repaid", "latest")]
    [True, True, False, False, False]
    """
    found = parts(name)
    if NOT.intersection(found):
        return False
    return bool(words.intersection(found)) or any(" ".join(pair) in PAIRS for pair in pairwise(found))


def ask_positive(score: str, label: str, meanings: Mapping[str, int], *, descending: bool) -> None:
    """Ask which label is good if the names suggest that it is not the one taken for 1."""
    good, bad = (in_words(label, meanings, wanted) for wanted in (1, 0))
    zero, one = (_value(meanings, wanted) for wanted in (0, 1))
    if sounds_bad(label):
        raise InputError(
            f"the label column {label!r} sounds like a bad outcome, so that it must be said which of its values is "
            f"good: --positive {zero} if {bad} is good (the usual case), --positive {one} if {good} is"
        )
    if not descending and sounds_bad(score, RISKY):
        raise InputError(
            f"the score column {score!r} sounds like the probability of a bad outcome, yet high scores and {good} "
            f"would count as good: if {good} is bad, say --positive {zero} --descending; if it is good, say "
            f"--positive {one}, with --descending if a high score is bad"
        )


def sounds_rejected(name: str) -> bool:
    """Whether the name of a column of decisions speaks of a rejection, or of another thing nobody wants.

    >>> [sounds_rejected(name) for name in ("denied", "turned_down", "not_approved", "approved", "not_denied")]
    [True, True, True, False, False]
    """
    found = parts(name)
    return sounds_bad(name) or bool(NOT.intersection(found) and ACCEPTED.intersection(found))


def ask_accepted(name: str, meanings: Mapping[str, int]) -> None:
    """Ask which decision is an acceptance if the column sounds like a rejection, and its values do not say."""
    if sounds_rejected(name) and not all(value.lower() in DECISIONS for value in meanings):
        yes, no = (in_words(name, meanings, wanted) for wanted in (1, 0))
        zero, one = (_value(meanings, wanted) for wanted in (0, 1))
        raise InputError(
            f"the decision column {name!r} sounds like a rejection, so that it must be said which of its values means "
            f"accepted: --accepted {zero} if {no} means accepted (the usual case), --accepted {one} if {yes} does"
        )


def upside_down(accepted: str, people: Sequence[float], labelled: Sequence[float]) -> str:
    """Say so if labels are those of people who count as rejected: what came of people is known of the accepted.

    `people` are rejected and accepted, `labelled` those among them whose label is known.

    >>> upside_down("granted = 1", (600, 400), (0, 400)), upside_down("granted = 1", (600, 400), (600, 400))
    ('', '')
    >>> upside_down("denied = 1", (400, 600), (400, 0))[:51]
    'Decisions may be read upside down: labels are known'
    """
    if min(people) <= 0 or not labelled[0]:
        return ""
    rejected, taken = (known / count for known, count in zip(labelled, people, strict=True))
    if taken > HARDLY or rejected < MUCH * taken or labelled[1] > HARDLY * sum(labelled):
        return ""
    return (
        f"Decisions may be read upside down: labels are known of {rejected:.0%} of those who count as rejected and of "
        f"{taken:.0%} of those who count as accepted ({accepted}), though what came of people is mostly known of the "
        "accepted. If so, say which decision means accepted (--accepted)."
    )


def good_sounds_bad(label: str, positive: Sequence[str]) -> bool:
    """Whether the label that was said to be good speaks of a bad outcome, as "positive" does in other trades.

    >>> [good_sounds_bad(*each) for each in (("default", ["1"]), ("default", ["0"]), ("status", ["Charged Off"]))]
    [True, False, True]
    """
    return any(sounds_bad(each) or (sounds_bad(label) and is_true(each)) for each in positive)


def _value(meanings: Mapping[str, int], wanted: int) -> str:
    """Return the label that counts as 0 or 1, as one would write it after --positive."""
    found = sorted((value for value, meaning in meanings.items() if meaning == wanted), key=natural)
    text = found[0] if found else str(wanted)
    return f"'{text}'" if " " in text else text


def remedy(score: str, label: str, meanings: Mapping[str, int], *, descending: bool, positive: Sequence[str]) -> str:
    """Say what would put right a score that ranks people the wrong way, and what each remedy means."""
    good, asked = in_words(label, meanings, 1), bool(positive)
    others = [value for value, meaning in meanings.items() if meaning == 0]
    other = f"--positive {_value(meanings, 0)}" if len(others) == 1 or not asked else "another --positive"
    label_wrong = f"if {good} is bad, say {other}"
    if descending and not asked:
        return (
            f"{label_wrong}; leaving out --descending instead would accept people with a high {score}, which is right "
            f"only if {good} is good"
        )
    score_wrong = f"if a high {score} is {'good, leave out' if descending else 'bad, say'} --descending"
    if not descending:
        score_wrong += f" (accept people with a low {score}, {good} stays good)"
        label_wrong += f" (accept people with a high {score}, for whom {good} is rarer)"
    if good_sounds_bad(label, positive):
        return f"{label_wrong}; {score_wrong}"
    return score_wrong if asked and sounds_bad(label) else f"{score_wrong}; {label_wrong}"
