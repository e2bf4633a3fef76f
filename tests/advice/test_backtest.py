"""The backtest against pandas, person by person."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import fairgate as fg
from fairgate.advice import Aims
from fairgate.advice.backtest import FIRST, Decided, backtest, judge
from fairgate.advice.choice import choose
from fairgate.advice.example_history import draw_history, example_people, threshold_path
from fairgate.advice.steady import Response
from fairgate.people.period_counts import PeriodCounts

pd = pytest.importorskip("pandas")

AIMS = Aims(cost=3.0, benefit=2.0, constraints=[fg.DemographicParity(0.12), fg.ServiceRate(0.2, 0.8)])


@pytest.fixture(scope="module")
def history() -> PeriodCounts:
    rng = np.random.default_rng(0)
    return draw_history(0.3, threshold_path(8, 2, 0.2, rng), 400, rng)


def persons(history: PeriodCounts) -> Any:
    """One row per person; label 2 is missing."""
    cells = np.argwhere(history.counts > 0)
    frame = pd.DataFrame(cells, columns=["period", "group", "bin", "label", "decision"])
    return frame.loc[frame.index.repeat(history.counts[tuple(cells.T)])].reset_index(drop=True)


def check(found: Decided, people: Any, accepted: Any) -> None:
    rates = accepted.groupby(people["group"]).mean()
    assert found.people == len(people)
    assert found.accepted == accepted.sum()
    assert list(found.rates.values()) == pytest.approx(rates.tolist(), abs=1e-12)
    assert found.gap == pytest.approx(rates.max() - rates.min(), abs=1e-12)
    taken = people[accepted]
    assert found.unknown == (taken["label"] == 2).sum()
    for reward, worth in ((found.reward_low, -1.5), (found.reward_high, 1.0)):
        worths = taken["label"].map({0: -1.5, 1: 1.0, 2: worth})
        assert reward == pytest.approx(worths.sum() / len(people), abs=1e-12)
    assert found.met == {
        "parity": bool(rates.max() - rates.min() <= 0.12),
        "service-low": bool(accepted.mean() >= 0.2),
        "service-high": bool(accepted.mean() <= 0.8),
    }


@pytest.mark.parametrize("candidates", [96, 10])
def test_every_figure_is_what_pandas_says(
    history: PeriodCounts, candidates: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where bins are joined."""
    monkeypatch.setattr("fairgate.advice.backtest.CANDIDATES", candidates)
    made, everybody = example_people(), persons(history)
    found = backtest(made, history, AIMS)
    assert [each.period for each in found] == list(history.periods[FIRST:])
    for place, each in enumerate(found, start=FIRST):
        people = everybody[everybody["period"] == place]
        cut = int(np.searchsorted(made.cuts, each.threshold))
        check(each.advised, people, people["bin"] >= cut)
        assert each.done is not None
        check(each.done, people, people["decision"] == 1)
        assert each.advised.reward_low <= each.advised.reward_high


def test_advice_knows_earlier_periods_only(history: PeriodCounts) -> None:
    made = example_people()
    found = backtest(made, history, AIMS)
    earlier = replace(made, counts=history.counts[:5].sum(axis=(0, 4)))
    choice = choose(earlier, AIMS.problem, Response(0.0, 0.0), seed=0)
    assert (found[5 - FIRST].threshold, found[5 - FIRST].status) == (made.cuts[choice.cut], choice.status)
    shuffled = history.counts.copy()
    shuffled[6:] = shuffled[6:][:, ::-1]
    later = backtest(made, PeriodCounts(history.periods, shuffled), AIMS)
    assert [each.threshold for each in later[: 7 - FIRST]] == [each.threshold for each in found[: 7 - FIRST]]


def test_people_accepted_who_were_rejected_have_unknown_labels(history: PeriodCounts) -> None:
    """A service rate that the past did not reach: the advice accepts people of whom nothing is known."""
    more = Aims(cost=1.0, constraints=[fg.ServiceRate(0.75, 1.0)])
    labelled = history.counts.copy()
    labelled[:3, :, :, 1, 0], labelled[:3, :, :, 2, 0] = labelled[:3, :, :, 2, 0], 0  # at first, all labels are known
    found = backtest(example_people(), PeriodCounts(history.periods, labelled), more)[0]
    assert found.advised.unknown > 0
    width = found.advised.reward_high - found.advised.reward_low
    assert width == pytest.approx(2.0 * found.advised.unknown / found.advised.people)
    assert found.done is not None
    assert found.done.unknown == 0


def test_what_cannot_be_told_is_none(history: PeriodCounts) -> None:
    counts = history.counts.copy()
    counts[4, 0] = 0
    aims = Aims(constraints=[fg.DemographicParity(0.1), fg.EqualOpportunity(0.1)])
    found = backtest(example_people(), PeriodCounts(history.periods, counts), aims)
    absent = found[4 - FIRST].advised
    assert absent.rates["a"] is None
    assert absent.gap is None
    assert all(each.advised.met["opportunity"] is None for each in found)  # needs labels of the rejected
    blank = np.stack((counts.sum(axis=4), np.zeros(counts.shape[:4], dtype=np.int64)), axis=4)
    assert all(each.done is None for each in backtest(example_people(), PeriodCounts(history.periods, blank), aims))


def test_a_period_is_broken_beyond_chance_only_if_exact_intervals_say_so() -> None:
    """40% and 60% of 20 people each are an accident that parity within 0.1 has often; of 2,000 each they are not."""
    small = np.zeros((2, 3, 2), dtype=np.int64)
    small[:, 1] = [[12, 8], [8, 12]]
    found = [judge(times * small, ("a", "b"), Aims(constraints=[fg.DemographicParity(0.1)])) for times in (1, 100)]
    assert [each.met["parity"] for each in found] == [False, False]
    assert [each.beyond_chance for each in found] == [False, True]
    kept = judge(100 * small, ("a", "b"), Aims(constraints=[fg.DemographicParity(0.25)]))
    assert not kept.beyond_chance


def test_periods_that_keep_parity_are_rarely_called_broken_beyond_chance() -> None:
    rng, aims = np.random.default_rng(0), Aims(constraints=[fg.DemographicParity(0.1)])
    told = []
    for _ in range(400):
        accepted = rng.binomial(30, [0.45, 0.55])
        decided = np.zeros((2, 3, 2), dtype=np.int64)
        decided[:, 1] = np.stack((30 - accepted, accepted), axis=1)
        told.append(judge(decided, ("a", "b"), aims))
    assert sum(each.met["parity"] is False for each in told) > 150
    assert sum(each.beyond_chance for each in told) <= binom.ppf(0.999, 400, 0.05)
