r"""Guarantee: thresholds that meet every constraint in the population with a stated probability.

Learn then Test [1]_ by a fixed sequence with a fallback [2]_. A small part of the people, the pilot, says where to
begin and which way to go. On the others, thresholds are tested one after the other, each against "some constraint is
broken", until one cannot be shown to hold. Those before it are sure. There are a few runs of such tests, each with its
part of δ = 1 − sure; a run that gets to the beginning of the next one hands its part on. So the probability that any
broken threshold is called sure is δ at most, and any of the sure ones may be chosen, by any data.

The probability that is stated of any threshold is the largest 1 − δ at which it still passes, and does on all people by
itself, too: a lower bound. Of all tables, 1 − c at most tell c or more of any threshold that is broken, however it was
chosen. By itself, too, since the people who are not in the pilot can flatter one that all people chose.

* A threshold is shown to hold if every line of every constraint is (an intersection–union test [3]_): being tested
  against all constraints and all pairs of groups costs nothing.
* Lines in rates of groups, of everybody, and of people with a known label are tested exactly
  (:mod:`fairgate.advice.exact`), so the promise holds for any number of people. All thresholds between two cuts are
  tested with those cuts: their rates lie between the rates at the ends.
* What labels that are missing, feedback or a constraint of one's own have a part in is tested by margins from
  resampling. Then the promise is approximate.

References
----------
.. [1] A. N. Angelopoulos, S. Bates, E. J. Candès, M. I. Jordan, L. Lei. Learn then Test: calibrating predictive
   algorithms to achieve risk control. arXiv:2110.01052, 2021.
.. [2] B. L. Wiens. A fixed sequence Bonferroni procedure for testing multiple endpoints. Pharmaceutical
   Statistics, 2003.
.. [3] R. L. Berger. Multiparameter hypothesis testing and acceptance sampling. Technometrics, 1982.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from fairgate.advice.exact import Ends, Line, Pair, one_rate, rate_ends
from fairgate.advice.steady import Response, steady_cells
from fairgate.constraints import Constraint
from fairgate.constraints.pieces import rates_of
from fairgate.counts import Counts
from fairgate.people.applicants import CANDIDATES, Applicants
from fairgate.people.labels import BAND_LABELS, UNKNOWN, LabelModel, tail
from fairgate.problem import Problem
from fairgate.settings import Array

PILOT = 0.15
"""Share of the people who say where to begin. Margins of the others are 8% wider for it."""

STARTS, SPREAD, AIMED = 3, 6, 0.75
"""Runs of tests that begin where the pilot expects much, and everywhere; and what share of the level the first have."""

FEW_LABELS = 5 * BAND_LABELS
"""Labels of a group below which missing ones are hardly told apart by score: five bands."""

FLOOR = 0.5
"""A lower confidence is not stated: such a rule breaks a constraint about as likely as not."""

LIKELY = 0.2
"""A run begins where the pilot has a test pass with so much of the highest probability at least."""


class Sorted(NamedTuple):
    """Lines that can be tested exactly, and the residuals that cannot."""

    lines: list[Line]
    others: list[int]  # numbers of residuals


class Guarantee:
    """The tests of all thresholds of a table, in an order that does not depend on the level, so that it may vary.

    `margins` (J, B) are added to residuals where a test is not exact; they are those of the whole table, and of
    probability :func:`least_sure`. `sure` is the probability the order is meant for.
    """

    def __init__(
        self, applicants: Applicants, problem: Problem, response: Response, margins: Array, sure: float, seed: int = 0
    ) -> None:
        self.bins = len(applicants.cuts)
        self.blind = rests_on_unknown(applicants, problem)
        if self.blind:
            self.exact = False
            return
        pilot, rest = split(applicants, np.random.default_rng([seed, 2]))
        tests = sort_out(applicants, problem, response)
        unit = margins[tests.others] / ndtri(least_sure(sure))
        self.rest, self.everybody = (
            Sample.of(people, applicants, problem, response, tests, unit) for people in (rest, pilot + rest)
        )
        self.order = order(applicants, pilot, problem, response, sure)
        self.exact = not tests.others and applicants.weights is None

    def passed(self, sure: float) -> NDArray[np.bool_]:
        """Say which thresholds keep every constraint, all at once with this probability at least, (B,).

        Who passes for one probability does for all lower ones.
        """
        cuts, level = np.full(self.bins, False), 0.0
        if self.blind:
            return cuts
        for weight, segment in self.order:
            level += weight * (1.0 - sure)
            if level <= 0.0:
                continue
            fine = self.rest.fine(level)
            for cut in segment:
                if not (fine[cut] and self.rest.lines.holds(cut, level)):
                    level = 0.0
                    break
                cuts[cut] = True
        return cuts

    def alone(self, cut: int, sure: float) -> bool:
        """Say whether this one threshold passes on all people, the pilot too, as if no other had been looked at."""
        level = 1.0 - sure
        return not self.blind and bool(self.everybody.fine(level)[cut]) and self.everybody.lines.holds(cut, level)


class Sample(NamedTuple):
    """The tests of some people: lines that are tested exactly; residuals of the others, and their standard errors."""

    lines: Exact
    found: Array  # (J, B)
    errors: Array

    @classmethod
    def of(
        cls,
        people: NDArray[np.int64],
        applicants: Applicants,
        problem: Problem,
        response: Response,
        tests: Sorted,
        errors: Array,
    ) -> Sample:
        """Set up the tests of `people` (G, B, 3), some of the applicants, of whom all together have these `errors`."""
        most = accepted_by(people)
        least = most if _repeated(applicants) else np.concatenate((most[1:], 0.0 * most[:1]))
        found = np.zeros((0, len(most)))
        if tests.others:
            cells = steady_cells(applicants.label_model.fill(people), response)
            found = problem.assess(Counts(cells)).residuals[tests.others]
        return cls(Exact(most, least, tests.lines), found, np.sqrt(applicants.people / max(people.sum(), 1)) * errors)

    def fine(self, level: float) -> NDArray[np.bool_]:
        """Say of which thresholds the residuals without an exact test are low enough, (B,)."""
        return np.asarray(((self.found + ndtri(1.0 - level) * self.errors) <= 0.0).all(axis=0))


def highest(passes: Callable[[float], bool], known: float = 0.0) -> float:
    """Return the highest confidence, in hundredths, or `known` if higher, at which a test passes; 0 if below a half.

    It passes at every confidence below one at which it does.

    >>> highest(lambda confidence: confidence <= 0.734), highest(lambda confidence: confidence < 0.4)
    (0.73, 0.0)
    """
    low, high = max(math.floor(100.0 * known), math.floor(100.0 * FLOOR) - 1), 100
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if passes(middle / 100.0) else (low, middle)
    return max(low / 100.0 if low >= 100.0 * FLOOR else 0.0, known)


def _repeated(applicants: Applicants) -> bool:
    """Say whether scores come from a short list, such as whole numbers, so that there is no threshold between two.

    Else the cuts are scores that happened to be drawn: a test then speaks of all thresholds from a cut to the next, so
    that it does not matter which were drawn.
    """
    return applicants.exact and float((applicants.counts.sum(axis=(0, 2)) > 1).mean()) >= 0.5


def rests_on_unknown(applicants: Applicants, problem: Problem) -> bool:
    """Say whether a constraint looks at labels that are missing and of which too little is known to fill them in."""
    labels = applicants.counts[..., :2].sum(axis=(1, 2))
    few = applicants.missing > 0 and labels.min() < FEW_LABELS
    looked_at = any(each.needs == "all-labels" for each in problem.constraints)
    return bool(looked_at and (few or applicants.unknown[0] > UNKNOWN))


def least_sure(sure: float) -> float:
    """Return the probability that margins are worked out for: a margin for one half would be none at all."""
    return max(sure, 0.6)


def split(applicants: Applicants, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Part the people by chance into the pilot and the others, (G, B, 3) each; weighted counts are rounded by chance.

    >>> from fairgate.people.applicants import Columns
    >>> counts = np.full((2, 5, 3), 10)
    >>> people = Applicants(("a", "b"), np.arange(5.0), np.arange(5.0), counts, Columns("s", "y", "g"), 300)
    >>> [int(part.sum()) for part in split(people, np.random.default_rng(0))]
    [45, 255]
    """
    counts = np.asarray(applicants.counts)
    whole = np.floor(counts).astype(np.int64)
    if counts.dtype.kind == "f":
        whole += rng.random(counts.shape) < counts - whole
    drawn = rng.multivariate_hypergeometric(whole.ravel(), math.ceil(PILOT * whole.sum()), method="marginals")
    pilot = drawn.reshape(counts.shape)
    return pilot, whole - pilot


def sort_out(applicants: Applicants, problem: Problem, response: Response) -> Sorted:
    """Say which lines can be tested exactly, and which residuals are left for margins."""
    groups = len(applicants.groups)
    lines: list[Line] = []
    others: list[int] = []
    number = 0
    for constraint in problem.constraints:
        pieces = None if response.strength != 0.0 else constraint.pieces(groups)
        found = [_lines(each.rows, each.limit, groups, applicants.missing > 0) for each in pieces or ()]
        for own in found or [None] * len(constraint.names):
            if own is None:
                others.append(number)
            else:
                lines += own
            number += 1
    return Sorted(lines, others)


def _lines(rows: Array, limit: float, groups: int, missing: bool) -> list[Line] | None:
    """Return the lines of a residual; None if one of them has no exact test."""
    found = []
    for row in rows:
        plus, minus = np.flatnonzero(row > 0.0), np.flatnonzero(row < 0.0)
        used = [*plus.tolist(), *minus.tolist()]
        both = len(used) == 2 and (0 in used or len({(each - 1) % groups for each in used}) < 2)
        if len(plus) > 1 or len(minus) > 1 or both or (missing and max(used) > groups):
            return None
        first, second = (int(each[0]) if len(each) else None for each in (plus, minus))
        a, b = (0.0 if each is None else abs(float(row[each])) for each in (first, second))
        found.append(Line(first, second, a, b, limit))
    return found


def accepted_by(counts: NDArray[np.int64]) -> Array:
    """Return the people of each population at or above each cut, (B, 1 + 3 G), labels that are missing left out."""
    above = tail(counts)  # (G, B, 3)
    each = above.sum(axis=2)
    return np.concatenate((each.sum(axis=0)[None], each, above[..., 0], above[..., 1])).T


class Exact:
    """Exact tests of all lines. What is cheap is worked out for all thresholds at once, the rest when it is asked for.

    `most` and `least` people (B, P) of each population may be accepted by the thresholds that a test speaks of.
    """

    def __init__(self, most: Array, least: Array, lines: Sequence[Line]) -> None:
        sizes = most[0]
        self.single = np.zeros(len(most))  # the largest p-value of lines in one rate
        self.pairs: list[Pair] = []
        ends: dict[tuple[str, int], Ends] = {}
        for line in lines:
            if line.vacuous:
                continue
            if line.plus is None or line.minus is None:
                self.single = np.maximum(self.single, _one(line, most, least, sizes))
            elif min(sizes[line.plus], sizes[line.minus]) < 1:
                self.single[:] = 1.0
            else:
                for side, place, hits in (("most", line.plus, most), ("least", line.minus, least)):
                    if (side, place) not in ends:
                        ends[side, place] = rate_ends(hits[:, place], sizes[place])
                self.pairs.append(Pair(line, ends["most", line.plus], ends["least", line.minus]))
        self.bounds = np.array([pair.bound() for pair in self.pairs], dtype=np.float32).reshape(-1, len(most))
        self.told: dict[tuple[int, int], tuple[float, float]] = {}  # levels at which a line is not shown, and is

    def holds(self, cut: int, level: float) -> bool:
        """Say whether every line is shown to hold at this threshold."""
        if self.single[cut] > level:
            return False
        left = np.flatnonzero(self.bounds[:, cut] > level)
        hardest = left[np.argsort(-self.bounds[left, cut], kind="stable")]
        return all(self._shown(int(place), cut, level) for place in hardest)

    def _shown(self, place: int, cut: int, level: float) -> bool:
        failed, passed = self.told.get((place, cut), (0.0, 2.0))
        if failed < level < passed:
            shown = self.pairs[place].shown(cut, level)
            self.told[place, cut] = (failed, level) if shown else (level, passed)
            return shown
        return level >= passed


def _one(line: Line, most: Array, least: Array, sizes: Array) -> Array:
    """Return the p-values of a line in one rate, (B,)."""
    if line.plus is not None:
        return one_rate(most[:, line.plus], float(sizes[line.plus]), line.limit / line.a, most=True)
    place = line.minus or 0
    return one_rate(least[:, place], float(sizes[place]), -line.limit / line.b, most=False)


class Segment(NamedTuple):
    """Thresholds that are tested one after the other, and the share of the level that is theirs from the outset."""

    weight: float
    cuts: range


def order(
    applicants: Applicants, pilot: NDArray[np.int64], problem: Problem, response: Response, sure: float
) -> list[Segment]:
    """Return the thresholds in the order in which they are tested, going by the pilot alone.

    Some runs begin at even shares of the people, weighted by their reward and by the squared probability that a test at
    their score will pass. Others, with less of the level, begin at even shares of all people whose acceptance earns
    something: feasible thresholds may lie in several pieces, of which the pilot can miss the best. All go to the side
    where the best seems to be. The last one goes on to the end, and then to what is left on the other side.
    """
    labels = LabelModel.fit(pilot, applicants.starts(CANDIDATES)) if applicants.missing else applicants.label_model
    filled = labels.fill(pilot)  # going by the pilot alone
    counts = Counts(steady_cells(filled, response))
    found = problem.assess(counts)
    power = pass_probability(problem.constraints, counts, found.residuals, pilot, sure)
    reward = np.nan_to_num(found.reward)
    likely = power >= LIKELY * power.max()
    mass = likely * pilot.sum(axis=(0, 2)) * power**2
    worth = mass * np.maximum(reward, 0.0)
    mass = (worth if worth.any() else mass).cumsum()
    runs = [(each, AIMED / STARTS) for each in _even(mass, STARTS)]
    best = int(np.where(power >= 0.5 * power.max(), reward, -np.inf).argmax())
    step = 1 if best >= runs[STARTS // 2][0] else -1
    worthy = reward > 0.25 * reward.max()
    spread = (worthy * pilot.sum(axis=(0, 2))).cumsum()
    if spread[-1] > 0:
        runs += [(each, (1.0 - AIMED) / SPREAD) for each in _even(spread, SPREAD)]
    starts = sorted({start for start, _ in runs}, reverse=step < 0)
    beyond = len(power) if step > 0 else -1
    segments = [
        Segment(sum(weight for each, weight in runs if each == start), range(start, end, step))
        for start, end in zip(starts, [*starts[1:], beyond], strict=True)
    ]
    return [*segments, Segment(0.0, range(starts[0] - step, len(power) - 1 - beyond, -step))]


def _even(mass: Array, parts: int) -> list[int]:
    """Return the middle of each of so many even parts of a cumulated mass."""
    return [int(place) for place in np.searchsorted(mass, mass[-1] * (np.arange(parts) + 0.5) / parts)]


def pass_probability(
    constraints: Sequence[Constraint], counts: Counts, residuals: Array, pilot: NDArray[np.int64], sure: float
) -> Array:
    """Return the probability, by the pilot, that each threshold will pass its test on the others, (B,)."""
    rates, _ = rates_of(counts)
    sizes = np.maximum(accepted_by(pilot)[0], 1.0)
    share = np.nan_to_num(rates, nan=0.5)
    smooth = (share * sizes + 1.0) / (sizes + 2.0)
    variance = smooth * (1.0 - smooth) / sizes  # (B, P)
    others = PILOT / (1.0 - PILOT)
    distance, number = np.full(len(share), -np.inf), 0
    for constraint in constraints:
        pieces = constraint.pieces(counts.group_count)
        for place in range(len(constraint.names)):
            if pieces is None:
                value, error = residuals[number][None], np.full((1, len(share)), 0.5 / np.sqrt(sizes[1:].min()))
            else:
                rows, limit = pieces[place]
                value, error = rows @ share.T - limit, np.sqrt(rows**2 @ variance.T)
            needed = value + ndtri(sure) * error * np.sqrt(others)
            standard = needed / np.maximum(error * np.sqrt(1.0 + others), 1e-12)
            distance = np.maximum(distance, standard.max(axis=0, initial=-np.inf))
            number += 1
    return np.asarray(ndtr(-distance))
