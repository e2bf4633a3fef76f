"""ResponsiveScores: people who get better, inflate their scores, change or stay away as decisions are made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from fairgate.counts import Counts
from fairgate.environments.base import Environment, approach, bins_between
from fairgate.environments.long_run import settle
from fairgate.errors import InputError
from fairgate.policy import Policy
from fairgate.settings import (
    Array,
    Between,
    Index,
    NonNegative,
    Number,
    Positive,
    PositiveShare,
    Real,
    Share,
    common_replicates,
    whole_number,
)

CELLS = 512
"""Cells between `low` and `high` that scores lie in: within a cell they are uniform and have one label curve."""

WIDE = 3.0
"""Standard deviations of ordinary people that one of outliers is wide."""

LEAST = 1e-9
"""Least number of people of a group, relative to its share: also where a search for a steady state leaps too far."""

HARM = 2.0
"""Negative labels weigh so much more than positive ones where people answer to outcomes (150 to 75 points of score)."""

PerGroup = Sequence[float] | Sequence[Sequence[float]] | Array
"""A number per group, (groups,), or per replicate and group, (replicates, groups)."""

GROUPED = {
    "weak": Between(),
    "strong": Between(),
    "sd": Between(low=0.0, open_low=True),
    "shares": Between(low=0.0, high=1.0, open_low=True),
    "slope": Between(low=0.0),
    "midpoint": Between(),
    "quality": Between(low=0.0, high=1.0),
    "quality_gain": Between(),
    "first_quality": Between(low=0.0, high=1.0),
    "inflation": Between(low=0.0, high=1.0),
    "inflation_gain": Between(),
    "relabelled": Between(low=0.0, high=1.0),
    "relabelled_gain": Between(),
    "participation_gain": Between(),
    "swing": Between(),
    "jump": Between(),
    "offset": Between(),
}
"""Settings that have one number per group, and the range of each."""


@dataclass(frozen=True)
class ResponsiveState:
    """What answers to decisions, (replicates, groups) each, and what is yet to be answered.

    `quality` is the share of strong people, `inflation` of those who present a raised score, `relabelled` of those
    whose label follows the other curve, `size` how many come relative to `shares`; `heard` are the signals of the last
    rounds, the latest first, (replicates, lag, groups), and `round` (replicates,) the round, if it matters.
    """

    quality: Array
    inflation: Array
    relabelled: Array
    size: Array
    heard: Array
    round: Array


class _Tables(NamedTuple):
    """P(cell or above, label) within a group, of weak and strong people by either label curve.

    `above` is (replicates, groups, 4, cells + 1, 2) for weak and strong people of the first curve, then of the other;
    `by_cell` has the same numbers, a row of eight for every cell of every group and replicate.
    """

    above: Array
    by_cell: Array
    spacing: float


@dataclass(frozen=True, kw_only=True, repr=False)
class ResponsiveScores(Environment):
    r"""Groups of weak and strong people, all of whom may answer to what is decided.

    A person of group g is strong with probability :math:`q_g`, else weak, and has the true score
    :math:`z \sim N(\mu, \sigma_g^2)` around the mean of the weak or the strong; a share `outliers` has three times that
    spread. The label is 1 with probability
    :math:`\mathrm{sigmoid}(slope_g (z - midpoint_g))`, or, of the share :math:`m_g` who are *relabelled*, with the
    midpoint `label_shift` higher. A share :math:`v_g` presents a score that is `lift` higher than the true one without
    being any better. Scores are rounded down to multiples of `ties`, if that is not 0. Group g comes with probability
    :math:`\propto shares_g \cdot n_g`.

    What people answer to is a signal in every round,

    .. math:: x_g = (1 - a - b) \cdot acc_g + a \cdot bar_g + b \cdot outcome_g,

    where acc is the group's acceptance rate, bar how high its published threshold lies between the quarters of the
    score range (0 to 1; of a lottery the mean, accepting all being 0 and nobody 1), and outcome
    :math:`\tfrac12 + (P(y = 1, d = 1 \mid g) - 2 P(y = 0, d = 1 \mid g)) / 4`. With `cross`, :math:`x_g` gets `cross`
    :math:`\cdot (\bar x - \tfrac12)` of the mean over all people. People hear of it `lag` rounds later, and of one half
    before. Then each of q, v and m moves the share `rate` of the way to

    .. math:: \mathrm{clip}(base_g + gain_g \cdot (x_g - \tfrac12), 0, 1),

    and n to :math:`\exp(gain_g \cdot (x_g - \tfrac12))`. So scores inflate without quality if only v has a gain; people
    qualify or lose heart with q; the meaning of labels shifts with m; a group that is turned away stays away with n.
    Apart from that, q is shifted by :math:`offset_g + swing_g \sin(2 \pi t / period) + jump_g [t \ge jump\_round]`.

    To be exact, scores are told apart in 512 cells between `low` and `high`, within which they are uniform and have the
    label probability of the middle; whoever is beyond an end is in its last cell. All probabilities are then sums.

    Every setting may vary by replicate: a number is given as (replicates,), a number per group as (replicates, groups).

    Parameters
    ----------
    weak, strong, sd
        Mean true score of each group's weak and strong people, and their standard deviation.
    shares
        Share of each group among people, if all come alike.
    slope, midpoint
        Label curve of each group.
    quality, quality_gain, first_quality
        Share of strong people at a signal of one half, how it answers, and where it starts (there, if not given).
    inflation, inflation_gain, lift
        Share of inflated scores, how it answers, and by how much they are raised.
    relabelled, relabelled_gain, label_shift
        Share of labels by the other curve, how it answers, and how much higher its midpoint lies.
    participation_gain
        How the number of each group's people answers.
    rate, lag, cross
        Speed of all answers, rounds until they begin, and influence of all groups on each.
    by_threshold, by_outcome
        Shares a and b of the signal.
    outliers, ties
        Heavy tails, and spacing of tied scores.
    swing, period, jump, jump_round, offset
        What changes by itself.
    low, high
        Range of scores.

    Examples
    --------
    Accepting half of each group leaves all as it is; accepting more brings more strong people of the first group.

    >>> env = ResponsiveScores(weak=[-1, -1], strong=[1, 1], sd=[1, 1], shares=[0.5, 0.5], slope=[2, 2],
    ...                        midpoint=[0, 0], quality=[0.5, 0.5], quality_gain=[0.6, 0.0], rate=0.1)
    >>> thresholds = np.array([[0.0, 0.0], [-1.0, -1.0]])
    >>> env.steady_state(thresholds).quality.round(3)
    array([[0.5  , 0.5  ],
           [0.701, 0.5  ]])
    """

    weak: PerGroup
    strong: PerGroup
    sd: PerGroup
    shares: PerGroup
    slope: PerGroup
    midpoint: PerGroup
    quality: PerGroup
    rate: PositiveShare
    quality_gain: PerGroup = ()
    first_quality: PerGroup = ()
    inflation: PerGroup = ()
    inflation_gain: PerGroup = ()
    lift: NonNegative = 0.0
    relabelled: PerGroup = ()
    relabelled_gain: PerGroup = ()
    label_shift: Real = 0.0
    participation_gain: PerGroup = ()
    lag: NonNegative = 0
    cross: Annotated[Number, Between(low=-1.0, high=1.0)] = 0.0
    by_threshold: Share = 0.0
    by_outcome: Share = 0.0
    outliers: Share = 0.0
    ties: NonNegative = 0.0
    swing: PerGroup = ()
    period: Positive = 1000.0
    jump: PerGroup = ()
    jump_round: NonNegative = 0
    offset: PerGroup = ()
    low: float = -6.0
    high: float = 6.0

    def __post_init__(self) -> None:
        super().__post_init__()
        kind, shares = type(self).__name__, self.by_group["shares"]
        if (np.abs(shares.sum(axis=1) - 1.0) > 1e-9).any():
            raise InputError(f"{kind}: shares must sum to 1, got {self.shares}")
        if not self.low < self.high:
            raise InputError(f"{kind}: low must be below high, got {self.low} and {self.high}")
        for name in ("lag", "jump_round"):
            if (np.asarray(getattr(self, name)) % 1).any():
                raise InputError(f"{kind}: {name} must be whole rounds, got {getattr(self, name)}")
        if np.any(np.add(self.by_threshold, self.by_outcome) > 1.0):
            raise InputError(
                f"{kind}: by_threshold and by_outcome are shares of one signal and must sum to at most 1, "
                f"got {self.by_threshold} and {self.by_outcome}"
            )

    def __repr__(self) -> str:
        """Write the settings that are not as they are by default; where they vary by replicate, how many there are."""
        if self.replicates is not None:
            return f"{type(self).__name__}({self.replicates} worlds, {self.group_count} groups)"
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        default: dict[str, Any] = {each.name: each.default for each in fields(self)}
        told = [
            f"{name}={np.round(value, 4).tolist()}"
            for name, value in given.items()
            if not np.array_equal(value, default[name])
        ]
        return f"{type(self).__name__}({', '.join(told)})"

    @cached_property
    def by_group(self) -> dict[str, Array]:
        """Every setting of :data:`GROUPED`, (replicates or 1, groups); one that is not given is 0 for all groups."""
        found: dict[str, Array] = {}
        for name, between in GROUPED.items():
            given, told = getattr(self, name), f"{type(self).__name__}: {name}"
            try:
                values = np.asarray(given, dtype=np.float64)
            except (TypeError, ValueError):
                raise InputError(f"{told} must be numbers, got {given!r}") from None
            if name in OPTIONAL and values.size == 0:
                values = found["quality"] if name == "first_quality" else np.zeros(self.group_count)
            if values.ndim not in (1, 2) or values.shape[-1] != self.group_count or not between.holds(values):
                raise InputError(
                    f"{told} must have one value per group, {self.group_count}, each {between}, got {given}"
                )
            found[name] = np.atleast_2d(values)
        return found

    @property
    def group_count(self) -> int:
        """Number of groups."""
        return int(np.shape(self.weak)[-1])

    @property
    def replicates(self) -> int | None:
        """How many replicates these settings are for, or None if they fit any number."""
        kind = type(self).__name__
        lengths = {name: len(values) for name, values in (*self._varying(), *self._grouped().items())}
        return common_replicates({f"{kind}.{name}": length for name, length in lengths.items()})

    def rows(self, index: Index) -> Self:
        """Return the same settings for these replicates only."""
        cut: dict[str, Any] = {name: values[index].tolist() for name, values in self._varying()}
        cut |= {name: values[index] for name, values in self._grouped().items()}
        return replace(self, **cut) if cut else self

    def _grouped(self) -> dict[str, Array]:
        """Settings per group that vary by replicate."""
        found = {name: np.asarray(getattr(self, name), dtype=np.float64) for name in GROUPED}
        return {name: values for name, values in found.items() if values.ndim == 2}

    @cached_property
    def changes(self) -> bool:
        """Whether it changes by itself."""
        return bool(self.by_group["swing"].any() or self.by_group["jump"].any())

    @cached_property
    def _shifted(self) -> bool:
        return self.changes or bool(self.by_group["offset"].any())

    def shift(self, rounds: Array) -> Array:
        """Return by how much the share of strong people is shifted in a round (replicates,), (replicates, groups)."""
        t, known, numbers = rounds[:, None], self.by_group, self._by_replicate
        season = known["swing"] * np.sin(2.0 * math.pi / numbers["period"] * t)
        return np.asarray(known["offset"] + season + known["jump"] * (t >= numbers["jump_round"]))

    @cached_property
    def _longest(self) -> int:
        return int(np.max(self.lag))

    def start(self, replicates: int = 1) -> ResponsiveState:
        """Return the state that nobody has answered yet."""
        known, shape = self.by_group, (replicates, self.group_count)
        names = ("first_quality", "inflation", "relabelled")
        quality, inflation, relabelled = (np.broadcast_to(known[name], shape).copy() for name in names)
        heard = np.full((replicates, self._longest, self.group_count), 0.5)
        return ResponsiveState(quality, inflation, relabelled, np.ones(shape), heard, np.zeros(replicates))

    @cached_property
    def tables(self) -> _Tables:
        """P(cell or above, label) within each group, of each kind of people."""
        known = {name: self.by_group[name][..., None] for name in ("weak", "strong", "sd", "slope", "midpoint")}
        edges = np.linspace(self.low, self.high, CELLS + 1)
        outliers = self._by_replicate["outliers"][..., None]
        middle = 0.5 * (edges[:-1] + edges[1:])
        curves = [
            expit(known["slope"] * (middle - known["midpoint"] - shift))
            for shift in (0.0, np.reshape(self.label_shift, (-1, 1, 1)))
        ]
        parts = []
        for positive in curves:
            for pool in ("weak", "strong"):
                z = (known[pool] - edges[1:-1]) / known["sd"]
                beyond = (1.0 - outliers) * ndtr(z) + outliers * ndtr(z / WIDE)  # P(score ≥ inner edge)
                inner = np.concatenate((np.ones_like(beyond[..., :1]), beyond, np.zeros_like(beyond[..., :1])), axis=-1)
                mass = inner[..., :-1] - inner[..., 1:]
                by_label = np.stack(np.broadcast_arrays(mass * (1.0 - positive), mass * positive), axis=-1)
                total = by_label[..., ::-1, :].cumsum(axis=-2)[..., ::-1, :]
                parts.append(np.concatenate((total, np.zeros_like(total[..., :1, :])), axis=-2))
        above = np.stack(np.broadcast_arrays(*parts), axis=2)
        by_cell = np.ascontiguousarray(above.swapaxes(2, 3)).reshape(-1, 8)
        return _Tables(np.ascontiguousarray(above), by_cell, float(edges[1] - edges[0]))

    @cached_property
    def _everybody(self) -> Array:
        """P(label) in each table, (replicates, groups, 4, 2)."""
        return np.ascontiguousarray(self.tables.above[..., 0, :])

    def _above(self, thresholds: Array, raised: Array | float) -> Array:
        """Return P(score + raised ≥ threshold, label) in each table, (…, 4, 2), of thresholds (replicates, …).

        The axes of thresholds after the first two, replicates and groups, follow those two.
        """
        _, by_cell, spacing = self.tables
        more = [1] * (thresholds.ndim - 1)
        if self._told["ties"]:
            ties = self._by_replicate["ties"].reshape(-1, *more)
            spaced = np.where(ties > 0, ties, 1.0)
            tied = np.ceil(thresholds / spaced - 1e-9) * spaced
            thresholds = np.where(ties > 0, tied, thresholds)
        place = within((thresholds - raised - self.low) / spacing, CELLS)
        below = np.minimum(place.astype(np.intp), CELLS - 1)
        part = (place - below)[..., None]
        row = self._first_cells.reshape(*self._first_cells.shape, *more[1:]) + below
        found = by_cell.take(row, axis=0)
        found += part * (by_cell.take(row + 1, axis=0) - found)
        return found.reshape(*row.shape, 4, 2)

    @cached_property
    def _first_cells(self) -> NDArray[np.intp]:
        """Row of the first cell of each replicate and group in the table by cell, (replicates or 1, groups)."""
        replicates = len(self.tables.above)
        return np.arange(replicates * self.group_count).reshape(replicates, -1) * (CELLS + 1)

    @cached_property
    def _told(self) -> dict[str, bool]:
        """Whether a setting that may vary by replicate is other than 0 in any."""
        return {name: bool(values.any()) for name, values in self._by_replicate.items()}

    def _mix(self, state: ResponsiveState) -> Array:
        """Return the weights of the four tables, (replicates, groups, 4)."""
        quality = state.quality + self.shift(state.round) if self._shifted else state.quality
        quality = within(quality)
        other, weak = within(state.relabelled), 1.0 - quality
        same = 1.0 - other
        mix = np.empty((*quality.shape, 4))
        for place, (one, two) in enumerate(((same, weak), (same, quality), (other, weak), (other, quality))):
            np.multiply(one, two, out=mix[..., place])
        return mix

    def group_shares(self, state: ResponsiveState) -> Array:
        """Return the share of each group among those who come, (replicates, groups)."""
        size = self.by_group["shares"] * np.maximum(state.size, LEAST)
        return np.asarray(size / size.sum(axis=1, keepdims=True))

    @cached_property
    def _lifted(self) -> bool:
        return self._told["lift"]

    def probabilities(self, state: ResponsiveState, thresholds: Array) -> Array:
        """Return P(group, label, decision), (replicates, groups, 2, 2)."""
        mix = self._mix(state)[..., None, :]  # (replicates, groups, 1, 4)
        accepted = self._above(thresholds, 0.0)
        if self._lifted:
            inflated = within(state.inflation)[..., None, None]
            raised = self._above(thresholds, self._by_replicate["lift"])
            accepted = (1.0 - inflated) * accepted + inflated * raised
        cells = np.empty((*thresholds.shape, 2, 2))
        cells[..., 1] = (mix @ accepted)[..., 0, :]
        cells[..., 0] = (mix @ self._everybody)[..., 0, :] - cells[..., 1]
        np.maximum(cells, 0.0, out=cells)  # differences of rounded numbers
        return np.asarray(cells * self.group_shares(state)[..., None, None])

    def histogram(self, state: ResponsiveState, edges: Array) -> Array:
        """Return P(group, bin, label), (replicates, groups, bins, 2), of the scores that `edges` (K,) part."""
        tables = self._bins(np.asarray(edges, dtype=np.float64))
        mix = self._mix(state)
        if self._lifted:
            inflated = within(state.inflation)[..., None]
            mix = np.concatenate(((1.0 - inflated) * mix, inflated * mix), axis=-1)
        mix = mix * self.group_shares(state)[..., None]
        found = np.matmul(mix[..., None, :], tables)[..., 0, :]
        return np.asarray(found.reshape(*mix.shape[:2], len(edges) + 1, 2))

    def _bins(self, edges: Array) -> Array:
        """Return P(bin, label) in each table, raised ones last, (replicates, groups, 4 or 8, bins · 2)."""
        key = edges.tobytes()
        if key not in self._kept:
            shape = (len(self.tables.above), self.group_count, len(edges))
            each = np.broadcast_to(edges, shape)
            parts = []
            for raised in (0.0, self._by_replicate["lift"][..., None])[: 1 + self._lifted]:
                above = np.moveaxis(self._above(each, raised), 2, 3)  # (replicates, groups, 4, edges, 2)
                parts.append(bins_between(above, self._everybody))
            tables = np.concatenate(np.broadcast_arrays(*parts), axis=2)
            self._kept[key] = (edges, np.ascontiguousarray(tables.reshape(*tables.shape[:3], -1)))
        return self._kept[key][1]

    def _bar(self, thresholds: Array) -> Array:
        """Return how high thresholds lie between the quarters of the score range, 0 to 1."""
        middle, half = 0.5 * (self.low + self.high), 0.5 * (self.high - self.low)
        return within(0.5 + (thresholds - middle) / half)

    def published(self, policy: Policy) -> Array:
        """Return the threshold that lies as high as those of a policy do on average, accepting all and nobody at ends.

        So a lottery's weights may be changed little by little, and what people hear changes as little.
        """
        if len(policy.weights) == 1:
            return np.asarray(policy.thresholds[0])
        bar = (policy.weights[..., None] * self._bar(policy.thresholds)).sum(axis=0)
        return np.asarray(0.5 * (self.low + self.high) + 0.5 * (self.high - self.low) * (bar - 0.5))

    def signal(self, counts: Counts, thresholds: Array) -> Array:
        """Return what people of each group answer to, (replicates, groups); NaN of a group with nobody."""
        by_threshold, by_outcome = (self._by_replicate[name] for name in ("by_threshold", "by_outcome"))
        found = (1.0 - by_threshold - by_outcome) * counts.rates
        if self._told["by_threshold"]:
            found = found + by_threshold * self._bar(thresholds)
        if self._told["by_outcome"]:
            people = np.where(counts.people > 0, counts.people, np.nan)
            worth = (counts.cells[..., 1, 1] - HARM * counts.cells[..., 0, 1]) / people
            found = found + by_outcome * (0.5 + worth / (2.0 * HARM))
        if self._told["cross"]:
            came = np.where(np.isnan(found), 0.0, counts.people)
            total = np.maximum(came.sum(axis=1, keepdims=True), 1e-300)
            mean = (came * np.nan_to_num(found)).sum(axis=1, keepdims=True) / total
            found = found + self._by_replicate["cross"] * (mean - 0.5)
        return np.asarray(found)

    def update(
        self, state: ResponsiveState, counts: Counts, thresholds: Array, rng: np.random.Generator
    ) -> ResponsiveState:
        """Return what a batch leads to."""
        signal, heard = self.signal(counts, thresholds), state.heard
        if self._longest:
            known = np.concatenate((signal[:, None], heard), axis=1)
            heard, missing = known[:, :-1], np.isnan(signal)
            signal = known[np.arange(len(known)), self._by_replicate["lag"][..., 0].astype(np.intp)]
            if missing.any():  # of a group with nobody, who hear of nothing
                signal = np.where(missing, np.nan, signal)
                heard = np.where(missing[:, None], state.heard, heard)
        rate, beyond = self._by_replicate["rate"], signal - 0.5
        base, gain = self._answers
        now = np.stack((state.quality, state.inflation, state.relabelled))
        moved = approach(now, within(base + gain * beyond), rate)
        size = state.size
        if self._comes:
            size = approach(size, np.exp(self.by_group["participation_gain"] * beyond), rate)
        quality, inflation, relabelled = moved
        return ResponsiveState(quality, inflation, relabelled, size, heard, state.round + float(self.changes))

    @cached_property
    def _answers(self) -> tuple[Array, Array]:
        """Base and gain of what answers as a share, (3, replicates or 1, groups) each."""
        names, known = ("quality", "inflation", "relabelled"), self.by_group
        base = np.stack(np.broadcast_arrays(*(known[name] for name in names)))
        return base, np.stack(np.broadcast_arrays(*(known[f"{name}_gain"] for name in names)))

    @cached_property
    def _comes(self) -> bool:
        return bool(self.by_group["participation_gain"].any())

    @cached_property
    def hastened(self) -> ResponsiveScores:
        """The same at rate 1 and without lag, where both are sure to end in the same, only, steady state."""
        return replace(self, rate=1.0, lag=0) if type(self) is ResponsiveScores and self.feedback() < 1.0 else self

    def feedback(self) -> float:
        """Return a bound on the slope of one round's signal in the last one's, at rate 1, over all policies.

        Below 1 there is one steady state, which any rate and lag lead to. Above, there may be several.
        """
        above = self.tables.above  # (replicates or 1, groups, 4, cells + 1, 2)
        rows = [np.broadcast_to(self._by_replicate[name], (len(above), 1)) for name in ("lift", "by_outcome", "cross")]
        names = ("quality_gain", "inflation_gain", "relabelled_gain", "participation_gain")
        gains = np.stack([np.broadcast_to(np.abs(self.by_group[name]), above.shape[:2]) for name in names], axis=1)
        return max(self._steepest(*row) for row in zip(above, gains, *(row[:, 0] for row in rows), strict=True))

    def _steepest(self, above: Array, gains: Array, lift: float, by_outcome: float, cross: float) -> float:
        accepted, outcome = above.sum(axis=-1), (above[..., 1] - HARM * above[..., 0]) / (2.0 * HARM)
        raised = round(lift / self.tables.spacing)

        def moved(table: Array) -> Array:
            """Largest change per group of one more strong, inflated or relabelled person, (3, groups)."""
            strong = np.abs(table[:, [1, 3]] - table[:, [0, 2]])
            lifted = np.abs(table - np.pad(table, ((0, 0), (0, 0), (raised, 0)), mode="edge")[..., : table.shape[-1]])
            other = np.abs(table[:, 2:] - table[:, :2])
            return np.stack([each.max(axis=(1, 2)) for each in (strong, lifted, other)])

        slopes = (1.0 - by_outcome) * moved(accepted) + by_outcome * moved(outcome)  # of thresholds a part is 0
        own = float((gains[:3] * slopes).sum(axis=0).max())
        coming = 0.5 * float(gains[3].max()) * abs(cross)  # who comes changes the mean of all
        return (1.0 + abs(cross)) * own + coming

    def steady_state(self, thresholds: Array) -> ResponsiveState:
        """Return the state that fixed thresholds (replicates, groups) lead to."""
        if self.changes:
            raise InputError(
                f"{type(self).__name__} has no steady state while it changes by itself: freeze it first with "
                "at(round_number)"
            )
        found: ResponsiveState = settle(self.hastened, Policy.of(thresholds))
        signal = self.signal(Counts(self.probabilities(found, thresholds)), thresholds)
        return replace(found, heard=signal[:, None].repeat(self._longest, axis=1))

    def at(self, round_number: int) -> Self:
        """Return the environment as it stands in a round, kept so."""
        now = whole_number("round_number", round_number, 0)
        if not self.changes:
            return self
        shift = self.shift(np.full(self.replicates or 1, float(now)))
        still = np.zeros(self.group_count)
        return replace(self, offset=shift if self.replicates else shift[0], swing=still, jump=still)


OPTIONAL = frozenset(each.name for each in fields(ResponsiveScores) if each.default == ())
"""Settings per group that need not be given."""


def within(values: Array, high: float = 1.0) -> Array:
    """Return `values` clipped to between 0 and `high`: what ``np.clip`` does, several times as fast for few."""
    return np.asarray(np.minimum(np.maximum(values, 0.0), high))
