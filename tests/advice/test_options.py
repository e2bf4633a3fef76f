"""What could be done instead: the nearest threshold and the best lottery of all there are, by other ways."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
from scipy.optimize import linprog

import fairgate as fg
from fairgate.advice import Advice, Aims, advise
from fairgate.people import from_frame
from tests.advice.people import SERVICE

AIMS = Aims(
    cost=1.0,
    constraints=[fg.DemographicParity(0.02), fg.ServiceRate(0.3, 0.35)],
    feedback=(0.0,),
    seeds=1,
    rounds=5,
)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return SERVICE.draw(3000, np.random.default_rng(6)).to_pandas()


@pytest.fixture(scope="module")
def advice(people: pd.DataFrame) -> Advice:
    return advise(from_frame(people, score="score", label="label", group="group"), AIMS)


def curves(people: pd.DataFrame) -> tuple[np.ndarray, ...]:
    """Thresholds at every score and one for nobody; rates of both groups, of everybody, and rewards."""
    cuts = np.concatenate((np.sort(people["score"].unique()), [np.inf]))
    taken = people["score"].to_numpy()[:, None] >= cuts
    group = people["group"].to_numpy()
    worth = np.where(people["label"] == 1.0, 1.0, -1.0)
    return (
        cuts,
        taken[group == 0].mean(axis=0),
        taken[group == 1].mean(axis=0),
        taken.mean(axis=0),
        worth @ taken / len(people),
    )


def test_the_nearest_is_the_nearest_of_all_thresholds(people: pd.DataFrame, advice: Advice) -> None:
    cuts, one, other, overall, _ = curves(people)
    residuals = np.stack((np.abs(one - other) - 0.02, 0.3 - overall, overall - 0.35))
    amount = np.maximum(residuals, 0.0).sum(axis=0)
    made = advice.recommendation
    assert made.status == "infeasible"
    assert made.threshold == cuts[amount.argmin()]
    assert sum(made.misses.values()) == pytest.approx(amount.min())


def test_the_best_lottery_is_that_of_a_linear_program_over_all_thresholds(people: pd.DataFrame, advice: Advice) -> None:
    _, one, other, overall, reward = curves(people)
    rows = np.stack((one - other, other - one, overall, -overall))
    solved = linprog(-reward, A_ub=rows, b_ub=[0.02, 0.02, 0.35, -0.3], A_eq=np.ones((1, len(reward))), b_eq=[1.0])
    lottery = advice.recommendation.options[0]
    assert lottery.kind == "lottery"
    assert lottery.reward == pytest.approx(-solved.fun, abs=1e-9)


def test_no_probability_is_told_of_options_that_all_people_had_a_part_in_choosing(advice: Advice) -> None:
    for option in advice.recommendation.options:
        assert "for all whom they were drawn from is not shown" in option.text
        assert "test_level" not in asdict(option)


def test_the_learner_to_go_on_with_searches_what_can_be_feasible(people: pd.DataFrame, advice: Advice) -> None:
    assert advice.recommendation.learner == "safe-search-lottery"
    assert "give a gate the learner safe-search-lottery: it searches lotteries" in advice.recommendation.text
    fg.load_learner(advice.recommendation.learner)
    loose = replace(AIMS, constraints=[fg.ServiceRate(0.2, 0.9)])
    fine = advise(from_frame(people, score="score", label="label", group="group"), loose).recommendation
    assert (fine.status, fine.learner) == ("sure", "safe-search")
    assert fine.text.endswith("give a gate the learner safe-search: it searches thresholds that are safe.")
    nothing = replace(AIMS, constraints=[fg.OutcomeImprovement(75.0, 150.0, 70.0), fg.GroupService(0.1, 1.0)])
    none = advise(from_frame(people, score="score", label="label", group="group"), nothing).recommendation
    assert (none.status, none.learner) == ("infeasible", None)
    assert "give a gate" not in none.text


def test_in_the_loop_lotteries_are_searched_where_no_threshold_is_feasible(people: pd.DataFrame) -> None:
    aims = replace(AIMS, loops=True)
    (outcomes,) = advise(from_frame(people, score="score", label="label", group="group"), aims).loops.values()
    titles = {each.key: each.title for each in outcomes}
    assert titles["lottery"] == "SafeSearch, lotteries"
    assert titles["selective-labels"] == "SafeSearch"
