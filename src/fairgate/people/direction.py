"""Direction: which label is the good one, and whether a high score is; asked for where names leave it open.

The commonest table has the probability of default as score and default = 1 as label. Taken as it is, 1 would count as
good, scores and labels would agree, and the likeliest defaulters would be accepted without a word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise

from fairgate.errors import InputError
from fairgate.people.values import in_words, is_true, natural

_WORDS = """
    bad default defaults defaulted defaulter defaulting chargeoff chargedoff writeoff writtenoff delinquent
    delinquency dlq dlqin arrears overdue late npl nonperforming loss losses lost bankrupt bankruptcy
    insolvent insolvency foreclosed foreclosure repossessed fraud fraudulent scam recid recidivism recidivist
    recidivated reoffend reoffended reoffense rearrest rearrested arrest arrested convicted conviction crime
    violent churn churned attrition fired dropout dropped fail fails failed failure death dead died dies
    deceased mortality denied denial deny rejected complaint
"""

BAD = frozenset(_WORDS.split())
"""Words that name an outcome nobody accepts people for. They count as whole parts of a name: ``loan_default``,
``SeriousDlqin2yrs`` and ``default.payment.next.month`` have one, ``late_fee`` too, ``latest`` has none."""

PAIRS = frozenset(
    ("charge off", "charged off", "write off", "written off", "past due", "drop out", "re arrest", "re offend")
)
"""The same in two parts of a name."""

NOT = frozenset(("no", "non", "not", "never", "without", "un"))
"""Words that turn the meaning round: ``no_default`` is good."""

RISKY = BAD | {"pd"}
"""Words by which a score is a probability of a bad outcome; not risk, which is used both ways."""


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


def good_sounds_bad(label: str, positive: str | None) -> bool:
    """Whether the label that was said to be good speaks of a bad outcome, as "positive" does in other trades.

    >>> [good_sounds_bad(*each) for each in (("default", "1"), ("default", "0"), ("status", "Charged Off"))]
    [True, False, True]
    """
    if positive is None:
        return False
    return sounds_bad(positive) or (sounds_bad(label) and is_true(positive))


def _value(meanings: Mapping[str, int], wanted: int) -> str:
    """Return the label that counts as 0 or 1, as one would write it after --positive."""
    found = sorted((value for value, meaning in meanings.items() if meaning == wanted), key=natural)
    text = found[0] if found else str(wanted)
    return f"'{text}'" if " " in text else text


def remedy(score: str, label: str, meanings: Mapping[str, int], *, descending: bool, asked: bool) -> str:
    """Say what would put right a score that ranks people the wrong way, and what each remedy means."""
    good = in_words(label, meanings, 1)
    others = [value for value, meaning in meanings.items() if meaning == 0]
    other = f"--positive {_value(meanings, 0)}" if len(others) == 1 or not asked else "another --positive"
    label_wrong = f"if {good} is bad, say {other}"
    if descending and not asked:
        return (
            f"{label_wrong}; leaving out --descending instead would accept people with a high {score}, which is right "
            f"only if {good} is good"
        )
    if descending:
        return f"if a high {score} is good, leave out --descending; {label_wrong}"
    return (
        f"if a high {score} is bad, say --descending (accept people with a low {score}, {good} stays good); "
        f"{label_wrong} (accept people with a high {score}, for whom {good} is rarer)"
    )
