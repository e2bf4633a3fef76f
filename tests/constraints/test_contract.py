"""What holds for every constraint."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

import fairgate as fg
from fairgate.confidence import Box, box
from fairgate.constraints import CONSTRAINTS, Constraint, as_constraint, make_constraint, parse_constraint
from fairgate.constraints.pieces import rates_of
from fairgate.problem import Problem
from tests.constraints.people import boxes

DECISIONS: dict[str, Constraint] = {
    "parity": fg.DemographicParity(0.1),
    "service": fg.ServiceRate(0.3, 0.7),
    "ratio": fg.DisparateImpact(0.8),
    "budget": fg.Budget(0.5),
    "group-service": fg.GroupService(0.2, 0.9),
}
LABELS: dict[str, Constraint] = {"opportunity": fg.EqualOpportunity(0.1), "equalised-odds": fg.EqualisedOdds(0.1)}
ACCEPTED: dict[str, Constraint] = {"improvement": fg.OutcomeImprovement(75.0, 150.0, 5.0)}
EVERY: dict[str, Constraint] = {**DECISIONS, **LABELS, **ACCEPTED}
SETTINGS: dict[str, dict[str, Any]] = {
    "parity": {"epsilon": [0.1, 0.2, 0.3]},
    "service": {"low": [0.1, 0.2, 0.3], "high": 0.9},
    "ratio": {"ratio": [0.7, 0.8, 0.9]},
    "budget": {"share": [0.1, 0.2, 0.3]},
    "group-service": {"low": 0.1, "high": [0.7, 0.8, 0.9]},
    "opportunity": {"epsilon": [0.1, 0.2, 0.3]},
    "equalised-odds": {"epsilon": [0.1, 0.2, 0.3]},
    "improvement": {"rise": [50.0, 75.0, 80.0], "fall": 150.0, "minimum": [0.0, -10.0, 5.0]},
}
every = pytest.mark.parametrize("name", EVERY)
decisions = pytest.mark.parametrize("name", DECISIONS)
cells = hnp.arrays(np.int64, (3, 3, 2, 2), elements=st.integers(0, 30))
Cells = NDArray[np.int64]


def test_every_built_in_constraint_has_a_name() -> None:
    assert CONSTRAINTS.keys() == EVERY.keys() == SETTINGS.keys()
    assert all(CONSTRAINTS[name] is type(constraint) for name, constraint in EVERY.items())


@every
def test_a_constraint_says_whether_it_needs_labels_of_the_rejected(name: str) -> None:
    """Without these labels its residuals could not be told: they change when labels of rejected people do."""
    table = np.array([[[[5, 5], [15, 10]], [[20, 3], [4, 9]]]])
    swapped = table.copy()
    swapped[..., 0] = swapped[..., ::-1, 0]
    constraint = EVERY[name]
    changes = not np.array_equal(constraint.residuals(fg.Counts(table)), constraint.residuals(fg.Counts(swapped)))
    assert changes == (constraint.needs == "all-labels")
    assert constraint.bounded == (constraint.needs == "decisions") == (name in DECISIONS)


@every
@given(table=cells)
def test_counts_and_their_shares_give_the_same_residuals(name: str, table: Cells) -> None:
    table[:, 0, 0, 0] += 1  # nobody at all is no batch
    shares = table / table.sum(axis=(1, 2, 3), keepdims=True)
    residuals = EVERY[name].residuals(fg.Counts(table))
    assert len(residuals) == len(EVERY[name].names)
    assert np.isfinite(residuals).all()
    np.testing.assert_allclose(residuals, EVERY[name].residuals(fg.Counts(shares)), atol=1e-12)


@every
@given(table=cells)
def test_the_order_of_the_groups_does_not_matter(name: str, table: Cells) -> None:
    table[:, 0, 0, 0] += 1
    mirrored = EVERY[name].residuals(fg.Counts(table[:, ::-1]))
    np.testing.assert_allclose(EVERY[name].residuals(fg.Counts(table)), mirrored, atol=1e-12)


@every
def test_settings_may_differ_by_replicate_on_any_leading_axes(name: str) -> None:
    table = np.random.default_rng(0).integers(0, 20, (4, 3, 5, 2, 2))
    together = CONSTRAINTS[name](**SETTINGS[name])
    residuals = np.array(together.residuals(fg.Counts(table)))
    assert residuals.shape == (len(together.names), 4, 3)
    for replicate in range(3):
        alone = {key: value[replicate] if isinstance(value, list) else value for key, value in SETTINGS[name].items()}
        single = np.array(CONSTRAINTS[name](**alone).residuals(fg.Counts(table[:, replicate])))
        np.testing.assert_array_equal(residuals[:, :, replicate], single)
    assert Problem(fg.Utility(1.0), [together]).rows(slice(1, 2)).assess(table[:, 1:2]).residuals.shape[1:] == (4, 1)


@pytest.mark.parametrize("name", ["parity", "ratio", "opportunity", "equalised-odds"])
def test_one_group_is_refused_where_groups_are_compared(name: str) -> None:
    kind = type(EVERY[name]).__name__
    with pytest.raises(fg.InputError, match=f"{kind} compares groups and needs at least 2, got 1 group"):
        EVERY[name].residuals(fg.Counts(np.ones((1, 1, 2, 2))))


@pytest.mark.parametrize("name", ["parity", "ratio"])
def test_a_box_of_one_group_is_refused_where_groups_are_compared(name: str) -> None:
    one = Box(np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1), np.ones(1))
    for bound in (DECISIONS[name].lowest, DECISIONS[name].highest):
        with pytest.raises(fg.InputError, match="needs at least 2, got 1 group"):
            bound(one)


@pytest.mark.parametrize("name", ["service", "budget", "group-service", "improvement"])
def test_one_group_is_enough_elsewhere(name: str) -> None:
    assert np.isfinite(EVERY[name].residuals(fg.Counts(np.ones((1, 1, 2, 2))))).all()


@decisions
@given(case=boxes())
def test_residuals_lie_between_their_bounds_while_the_rates_lie_in_the_box(
    name: str, case: tuple[fg.Counts, Box]
) -> None:
    counts, known = case
    residuals = np.array(DECISIONS[name].residuals(counts))
    assert (np.array(DECISIONS[name].lowest(known)) <= residuals + 1e-12).all()
    assert (np.array(DECISIONS[name].highest(known)) >= residuals - 1e-12).all()


@decisions
@given(case=boxes())
def test_a_box_without_width_tells_the_residuals(name: str, case: tuple[fg.Counts, Box]) -> None:
    counts, _ = case
    exact = Box(counts.rates, counts.rates, counts.overall, counts.overall)
    np.testing.assert_allclose(DECISIONS[name].lowest(exact), DECISIONS[name].residuals(counts), atol=1e-12)
    np.testing.assert_allclose(DECISIONS[name].highest(exact), DECISIONS[name].residuals(counts), atol=1e-12)


@pytest.mark.parametrize("name", ["parity", "ratio", "group-service"])
def test_the_bounds_are_reached(name: str) -> None:
    """Over a fine grid of rates in the box, the smallest and largest residuals are the bounds."""
    rng = np.random.default_rng(2)
    for _ in range(30):
        low, high = np.sort(rng.random((2, 3)).round(1), axis=0)
        axes = [np.linspace(*ends, 11) for ends in zip(low, high, strict=True)]
        grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 1, 3)
        grid = np.concatenate((grid, np.clip(high.min(), low, high)[None, None]))
        table = np.zeros((*grid.shape, 2, 2))
        table[..., 1, 1], table[..., 1, 0] = grid, 1 - grid
        residuals = np.array(DECISIONS[name].residuals(fg.Counts(table)))
        known = Box(low[None], high[None], np.zeros(1), np.ones(1))
        np.testing.assert_allclose(residuals.max(axis=1), DECISIONS[name].highest(known), atol=1e-12)
        np.testing.assert_allclose(residuals.min(axis=1), DECISIONS[name].lowest(known), atol=1e-12)


@decisions
def test_bounds_from_many_people_enclose_the_residuals_and_close_in(name: str) -> None:
    shares, accepted = np.array([0.7, 0.25, 0.05]), np.array([0.3, 0.6, 0.8])
    truth = np.zeros((1, 3, 2, 2))
    truth[0, :, 1, 1], truth[0, :, 1, 0] = shares * accepted, shares * (1 - accepted)
    residuals = np.array(DECISIONS[name].residuals(fg.Counts(truth)))
    widths = []
    for people in (1e3, 1e5, 1e7):
        known = box([people * shares * accepted], [people * shares], 0.05)
        low, high = np.array(DECISIONS[name].lowest(known)), np.array(DECISIONS[name].highest(known))
        assert (low <= residuals).all()
        assert (high >= residuals).all()
        widths.append((high - low).max())
    assert widths[0] > 5 * widths[1] > 25 * widths[2]


@every
def test_the_text_form_goes_both_ways(name: str) -> None:
    constraint = EVERY[name]
    assert constraint.text.startswith(f"{name}=")
    assert parse_constraint(constraint.text) == constraint
    settings = [getattr(constraint, field) for field in SETTINGS[name]]
    assert make_constraint(name, settings) == constraint  # a list of a policy file
    assert make_constraint(name, {field: getattr(constraint, field) for field in SETTINGS[name]}) == constraint
    assert "Parameters" in str(type(constraint).__doc__)
    assert type(constraint).help.endswith(".")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("partiy=0.1", "unknown constraint 'partiy': did you mean 'parity'?"),
        ("parity", "parity must be written as parity=epsilon, got parity"),
        ("parity=0.1:0.2", "parity must be written as parity=epsilon, got parity=0.1:0.2"),
        ("parity=2", r"parity=2: epsilon must be in \[0, 1\], got 2.0"),
        ("parity=small", r"parity=small: epsilon must be in \[0, 1\], got 'small'"),
        ("service=0.8", "service must be written as service=low:high, got service=0.8"),
        ("service=0.8:0.3", "service=0.8:0.3: the window is empty, low must be below high"),
        ("nowhere:Mine=1", "'nowhere:Mine': there is no module 'nowhere' here or installed"),
        ("math:Mine=1", "unknown name in constraint math:Mine 'Mine'"),
        ("math:pi", "math:pi must be written as"),
    ],
)
def test_text_that_is_no_constraint_is_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(fg.InputError, match=sentence):
        parse_constraint(text, allow=["nowhere:Mine", "math:Mine", "math:pi"])


@every
@given(table=cells)
def test_the_pieces_are_the_residuals(name: str, table: Cells) -> None:
    """The largest of the straight lines is the residual, but for groups with nobody in them.

    A change of score is none in acceptance rates: it also depends on how many would repay.
    """
    table += 1
    counts = fg.Counts(table)
    pieces = EVERY[name].pieces(3)
    assert (pieces is None) == (name in ACCEPTED)
    if pieces is None:
        return
    found = [(rates_of(counts)[0] @ rows.T).max(axis=-1) - limit for rows, limit in pieces]
    np.testing.assert_allclose(found, EVERY[name].residuals(counts), atol=1e-12)


@every
@given(table=cells)
def test_a_figure_is_beyond_its_limit_exactly_where_the_residual_is_broken(name: str, table: Cells) -> None:
    table += 1
    counts = fg.Counts(table)
    for residual, measure in zip(EVERY[name].residuals(counts), EVERY[name].measures(counts), strict=True):
        sure = np.abs(residual) > 1e-9
        assert ((measure.beyond > 0.0) == (residual > 0.0))[sure].all()
        assert measure.end in ("at least", "at most")


def test_a_constraint_of_ones_own_is_measured_by_its_residual() -> None:
    class Mine:
        names = ("harm",)

        def residuals(self, counts: fg.Counts) -> list[NDArray[np.float64]]:
            return [counts.overall - 0.5]

    counts = fg.Counts(np.ones((3, 2, 2, 2)))
    (measure,) = as_constraint(Mine()).measures(counts)
    assert measure.about == "The residual 'harm', beyond what is allowed"
    np.testing.assert_array_equal(measure.value, Mine().residuals(counts)[0])
    assert (measure.end, measure.limit) == ("at most", 0.0)


@every
@given(table=cells)
def test_residuals_lie_in_their_span(name: str, table: Cells) -> None:
    table += 1
    residuals = EVERY[name].residuals(fg.Counts(table))
    for residual, (low, high) in zip(residuals, EVERY[name].span(3), strict=True):
        assert np.isfinite((low, high)).all()
        assert ((low - 1e-12 <= residual) & (residual <= high + 1e-12)).all()


@every
def test_one_probability_for_everybody_meets_it_exactly_in_its_window(name: str) -> None:
    """What looks at labels could be met there: it is if all of them are good."""
    low, high = (float(np.asarray(end)) for end in EVERY[name].uniform_window())
    labels = np.array([0.0, 2.0]) if name in ACCEPTED else np.ones(2)
    for chance in (0.0, low - 0.01, low, 0.5 * (low + high), high, high + 0.01, 1.0):
        if 0.0 <= chance <= 1.0:
            table = np.array([0.3, 0.7])[:, None, None] * labels[:, None] * np.array([1.0 - chance, chance])
            met = bool((np.array(EVERY[name].residuals(fg.Counts(table[None]))) <= 1e-12).all())
            assert met == (low <= chance <= high)


@every
@given(table=cells)
def test_relaxed_until_met(name: str, table: Cells) -> None:
    """What breaks a residual meets the relaxed one, which is hardly looser than it must be and says so."""
    counts = fg.Counts(table[0] + 1)
    constraint = EVERY[name]
    for place, residual in enumerate(constraint.residuals(counts)):
        if residual > 1e-9:
            relaxed = constraint.relaxed(place, counts)
            assert relaxed is not None
            after = float(relaxed.residuals(counts)[place])
            assert -0.002 <= after <= 1e-12
            assert relaxed.allows(place) != constraint.allows(place)


@every
def test_a_constraint_says_what_it_is_about(name: str) -> None:
    constraint = EVERY[name]
    assert len(constraint.words) == len(constraint.names)
    for about, broken in constraint.words:
        assert about.startswith("The ")
        assert broken.count("{}") == 1
    assert constraint.requirement.endswith(".")
    assert {limit.figure for limit in constraint.limits()} <= {"acceptance", "rates", "gap"}
