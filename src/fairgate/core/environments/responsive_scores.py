"""ResponsiveScores: people who improve, inflate their scores, change labels or stay away, for one loop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np

from fairgate import environments
from fairgate.arrays import Array, namespace, record
from fairgate.core.policy import Policy
from fairgate.counts import Counts
from fairgate.environments.responsive_scores import HARM, LEAST
from fairgate.errors import InputError
from fairgate.random import Draws

ANSWERS = "quality", "inflation", "relabelled"
"""Shares of a group that respond, in the order of `base` and `gain`."""


@record
class Responses:
    """State: the responses to decisions so far, and the signals that people have not received yet.

    Attributes
    ----------
    quality, inflation, relabelled
        Shares of strong people, of raised scores and of labels by the other curve, (groups,).
    size
        Number of applicants relative to the group's share of the population, (groups,).
    heard
        Signals of the last rounds in which the group had applicants, latest first, (rounds kept, groups).
    round
        Number of rounds so far, ().
    """

    quality: Array
    inflation: Array
    relabelled: Array
    size: Array
    heard: Array
    round: Array


@record
class ResponsiveScores:
    """Tables and rates of :class:`fairgate.environments.ResponsiveScores`, which documents the equations.

    A group is a mixture of eight kinds of people: with a true or a raised score, with a label by the first or the other
    curve, and weak or strong. The state gives their proportions.

    Attributes
    ----------
    above
        P(score ≥ edge, label) within each group, by label curve and by weak or strong, at equally spaced edges,
        (groups, edges, 2, 2, 2). It is linear between two edges, and excludes raised scores.
    low, high
        The first and the last of the edges, ().
    lift, ties
        Increase of a raised score; spacing of scores, 0 if they are continuous, ().
    shares
        Share of each group if all groups participate equally, (groups,).
    base, gain
        Quality, inflation and relabelled at a signal of one half, and their slopes in the signal, (3, groups).
    participation_gain
        Slope of the logarithm of `size` in the signal, (groups,).
    rate, lag
        Fraction of the way to its target that the state moves in a round, and delay of signals in rounds, ().
    by_threshold, by_outcome, cross
        Weights of the threshold and of outcomes in the signal, and of the mean signal of all people, ().
    offset, swing, jump, period, jump_round
        Constant, seasonal and sudden shifts of quality, (groups,); length of a season in rounds, and round of the
        sudden shift, ().
    first
        Initial state.
    """

    above: Array
    low: Array
    high: Array
    lift: Array
    ties: Array
    shares: Array
    base: Array
    gain: Array
    participation_gain: Array
    rate: Array
    lag: Array
    by_threshold: Array
    by_outcome: Array
    cross: Array
    offset: Array
    swing: Array
    jump: Array
    period: Array
    jump_round: Array
    first: Responses

    @classmethod
    def of(cls, described: environments.ResponsiveScores) -> ResponsiveScores:
        """Return the tables of an environment of one replicate; select it by `rows` first if there are several."""
        if described.replicates not in (None, 1):
            raise InputError(
                f"ResponsiveScores must be of one replicate here, got {described.replicates}: "
                "take each by rows(slice(number, number + 1))"
            )
        known = {name: values[0] for name, values in described.by_group.items()}
        single = ("lift", "ties", "rate", "by_threshold", "by_outcome", "cross", "period", "jump_round", "low", "high")
        lag = int(np.max(described.lag))
        kinds = np.moveaxis(described.tables.above[0], 2, 1)  # (groups, edges, 4, labels)
        groups = described.group_count
        first = Responses(
            known["first_quality"], known["inflation"], known["relabelled"], np.ones(groups),
            np.full((max(lag, 1), groups), 0.5), np.zeros(()),
        )  # fmt: skip
        return cls(
            above=np.ascontiguousarray(kinds.reshape(*kinds.shape[:2], 2, 2, 2)),
            base=np.stack([known[name] for name in ANSWERS]),
            gain=np.stack([known[f"{name}_gain"] for name in ANSWERS]),
            lag=np.asarray(lag),
            first=first,
            **{name: known[name] for name in ("shares", "participation_gain", "offset", "swing", "jump")},
            **{name: np.reshape(np.asarray(getattr(described, name), dtype=np.float64), ()) for name in single},
        )

    @classmethod
    def alike(cls, several: Sequence[Self]) -> list[Self]:
        """Return the same environments with equal numbers of stored signals, so that their arrays can be stacked."""
        longest = max(len(each.first.heard) for each in several)
        return [each._keeping(longest) for each in several]

    def _keeping(self, rounds: int) -> Self:
        heard = np.full((rounds, len(self.shares)), 0.5)
        return replace(self, first=replace(self.first, heard=heard))

    def start(self) -> Responses:
        """Return the initial state."""
        return self.first

    def shift(self, number: Array) -> Array:
        """Return the shift of quality in a round that does not depend on decisions, (groups,)."""
        season = namespace(number).sin(2.0 * math.pi / self.period * number)
        return self.offset + self.swing * season + self.jump * (number >= self.jump_round)

    def kinds(self, state: Responses) -> Array:
        """Return the share of each kind of people within each group, (groups, 2, 2, 2)."""
        xp = namespace(state.quality)
        quality = state.quality + self.shift(state.round)
        shares = (xp.clip(each, 0.0, 1.0) for each in (state.inflation, state.relabelled, quality))
        raised, other, strong = (xp.stack((1.0 - each, each), axis=-1) for each in shares)
        return raised[:, :, None, None] * other[:, None, :, None] * strong[:, None, None, :]

    def reaching(self, thresholds: Array) -> Array:
        """Return P(score ≥ threshold, label) of each kind, (…, groups, 2, 2, 2, 2), at thresholds (…, groups or 1)."""
        xp = namespace(self.above, thresholds)
        groups, edges = self.above.shape[:2]
        spaced = xp.where(self.ties > 0.0, self.ties, 1.0)
        tied = xp.ceil(thresholds / spaced - 1e-9) * spaced
        raised = xp.stack((xp.zeros_like(self.lift), self.lift))
        needed = xp.where(self.ties > 0.0, tied, thresholds)[..., None] - raised  # sufficient true score
        place = xp.clip((needed - self.low) * ((edges - 1) / (self.high - self.low)), 0.0, edges - 1.0)
        below = xp.astype(xp.minimum(place, edges - 2.0), xp.int32)
        group, part = xp.arange(groups)[:, None], (place - below)[..., None, None, None]
        lower, upper = self.above[group, below], self.above[group, below + 1]
        return lower + part * (upper - lower)

    def group_shares(self, state: Responses) -> Array:
        """Return the share of each group among applicants, (groups,)."""
        size = self.shares * namespace(state.size).maximum(state.size, LEAST)
        return size / size.sum()

    def cells(self, state: Responses, policy: Policy) -> Array:
        """Return P(group, label, decision), (groups, 2, 2)."""
        xp = namespace(state.quality, policy.thresholds)
        options = self.reaching(policy.thresholds)
        reaching = xp.tensordot(policy.weights, options, axes=1)
        kinds = self.kinds(state)[..., None]
        accepted = (kinds * reaching).sum(axis=(1, 2, 3))
        everybody = (kinds * self.above[:, :1]).sum(axis=(1, 2, 3))  # a raised score changes no label
        within = xp.stack((everybody - accepted, accepted), axis=-1)
        return xp.maximum(within, 0.0) * self.group_shares(state)[:, None, None]

    def histogram(self, state: Responses, edges: Array) -> Array:
        """Return P(group, bin, label), (groups, bins, 2), of scores binned by `edges` (K,)."""
        xp = namespace(state.quality, edges)
        kinds = self.kinds(state) * self.group_shares(state)[:, None, None, None]
        groups, bins = len(kinds), len(edges) + 1
        # A matrix product, so that JAX computes the bins once for all rounds; within a sum, it would do so in each.
        mixed = xp.matmul(xp.reshape(kinds, (groups, 1, -1)), self._bins(edges))
        return xp.reshape(mixed, (groups, bins, 2))

    def _bins(self, edges: Array) -> Array:
        """Return P(bin, label) of each kind of people, (groups, kinds, bins · 2)."""
        xp = namespace(self.above, edges)
        end = xp.full((1,), xp.inf)
        above = self.reaching(xp.concatenate((-end, edges, end))[:, None])
        bins = xp.maximum(above[:-1] - above[1:], 0.0)  # differences of rounded numbers
        by_kind = xp.moveaxis(xp.reshape(bins, (*bins.shape[:2], -1, 2)), 0, 2)  # (groups, kinds, bins, labels)
        return xp.reshape(by_kind, (*by_kind.shape[:2], -1))

    def height(self, policy: Policy) -> Array:
        """Return the height of a policy's thresholds in the score range, from 0 to 1, (groups or 1,).

        The height is 0 at one quarter of the range and 1 at three quarters, and linear in between.

        The height of a lottery is the weighted mean of its thresholds' heights, not the height of the mean threshold.
        Accepting all applicants has height 0 and rejecting all has height 1, for any threshold beyond the scores. Each
        applicant responds to the threshold that was drawn for them, so the height is linear in the weights.
        """
        middle, half = 0.5 * (self.low + self.high), 0.5 * (self.high - self.low)
        each = namespace(policy.thresholds).clip(0.5 + (policy.thresholds - middle) / half, 0.0, 1.0)
        return (policy.weights[:, None] * each).sum(axis=0)

    def signal(self, policy: Policy, counts: Counts) -> Array:
        """Return the signal that each group responds to, (groups,); it is undefined for a group without applicants."""
        xp = namespace(counts.cells)
        people = xp.where(counts.people > 0, counts.people, 1.0)
        accepted, positives, negatives = counts.accepted, counts.cells[:, 1, 1], counts.cells[:, 0, 1]
        outcome = 0.5 + (positives - HARM * negatives) / (2.0 * HARM * people)
        by_rate = 1.0 - self.by_threshold - self.by_outcome
        own = by_rate * accepted / people + self.by_threshold * self.height(policy) + self.by_outcome * outcome
        mean = (counts.people * own).sum() / xp.where(counts.total > 0, counts.total, 1.0)
        return own + self.cross * (mean - 0.5)

    def update(self, state: Responses, policy: Policy, counts: Counts, draws: Draws) -> Responses:
        """Return the state after a batch; a group without applicants receives no signal and does not move.

        People respond to the acceptance rates and outcomes of the batch, so to the actual decisions of a lottery, and
        to thresholds through :meth:`height`.
        """
        xp = namespace(counts.cells)
        came = counts.people > 0
        known = xp.concatenate((self.signal(policy, counts)[None], state.heard))
        beyond = known[self.lag] - 0.5

        def moved(now: Array, target: Array) -> Array:
            return xp.where(came, now + self.rate * (target - now), now)

        quality, inflation, relabelled = xp.clip(self.base + self.gain * beyond, 0.0, 1.0)
        return Responses(
            moved(state.quality, quality),
            moved(state.inflation, inflation),
            moved(state.relabelled, relabelled),
            moved(state.size, xp.exp(self.participation_gain * beyond)),
            xp.where(came, known[:-1], state.heard),
            state.round + 1.0,
        )
