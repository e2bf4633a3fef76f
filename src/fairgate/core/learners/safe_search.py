"""SafeSearch: play the best policy that is safe for the current applicants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from fairgate.arrays import Array, namespace, record, static
from fairgate.core.learners.components import policy_search as search
from fairgate.core.learners.components.label_curve import LabelCurve
from fairgate.core.learners.components.memory import either, taught
from fairgate.core.learners.components.prospects import Prospects, Rules
from fairgate.core.learners.components.schedule import when
from fairgate.core.learners.components.score_windows import ScoreWindows
from fairgate.core.learners.components.uniform import feasible_window
from fairgate.core.policy import Policy
from fairgate.core.setting import Setting
from fairgate.problem import Feedback
from fairgate.random import Draws

Reach = Callable[[Rules], Rules]
"""A limit to how far policies may be from the current one."""

ERRORS = 1.5
"""Standard errors of the safety margin."""

ENOUGH_PEOPLE, ENOUGH_LABELS, LONGEST = 300.0, 150.0, 60.0
"""Applicants, labels and rounds after which the opening ends."""

GAIN = 0.004
"""Reward per applicant that a new policy must add to replace a safe one."""

STRETCH = 10
"""Rounds between plans; a tenth of the age before."""

BROAD = 10
"""A broad search every so many stretches."""

FIRST_FIT = 5
"""Fits of the label curve to past decisions, each of which starts from the one before."""

STRONG = 3.0
"""Standard errors by which every policy must break a constraint to count as evidence that none is feasible."""

PATIENCE = 100.0
"""Rounds that such evidence must last, and at least a quarter of the run."""

SMALL_STEP = 20
"""Without a lottery, a plan moves thresholds by at most this fraction of the grid."""


@record
class Past:
    """Past decisions under an old threshold: applicants (groups, K + 1), known labels (groups, K + 1, 2), its index."""

    scores: Array
    labels: Array
    arm: Array


@record
class Memory:
    """Estimates, and the current policy.

    Attributes
    ----------
    windows, curve
        Scores of the applicants, and labels of the accepted.
    rule, opening, safe
        The current policy, whether it is the opening, and whether it is safe, ().
    people, labels
        Applicants and labels so far, ().
    against, looked, infeasible
        Rounds for which no policy of the class has seemed feasible, the round up to which they are counted, and whether
        that is declared, ().
    """

    windows: ScoreWindows
    curve: LabelCurve
    rule: Rules
    opening: Array
    safe: Array
    people: Array
    labels: Array
    against: Array
    looked: Array
    infeasible: Array


@record
class SafeSearch:
    """Play the policy of the highest predicted reward among those that are safe for the current applicants.

    :class:`fairgate.SafeSearch` documents the rule and the settings.
    """

    policies: str = static("threshold")
    lottery: bool = static(default=True)
    past: Past | None = None

    level: ClassVar[str] = "selective-labels"
    learns_late: ClassVar[bool] = True

    def init(self, setting: Setting) -> Memory:
        """Begin with a uniform lottery, in the middle of the grid without one, or with the best that the past shows."""
        xp, arms = namespace(setting.grid), len(setting.grid)
        whole, zero = xp.zeros(setting.groups, dtype=int), xp.zeros(())
        low, high = feasible_window(setting.problem, setting.groups)
        middle = whole + (arms + 1) // 2
        rule = Rules(whole, whole + arms + 1, 0.5 * (low + high)) if self.lottery else Rules(middle, middle, zero + 1.0)
        memory = Memory(
            ScoreWindows.none(setting), LabelCurve.none(setting), rule, zero == 0.0, zero > 0.0, zero, zero, zero,
            zero, zero > 0.0,
        )  # fmt: skip
        return memory if self.past is None else self.informed(setting, memory, self.past)

    def informed(self, setting: Setting, memory: Memory, past: Past) -> Memory:
        """Return the memory with a plan from past decisions, taken as one round in which the old threshold stood."""
        xp, curve = namespace(setting.grid), memory.curve.with_labels(past.labels)
        place = xp.zeros(setting.groups, dtype=int) + past.arm + 1
        for _ in range(FIRST_FIT):
            curve = curve.fitted()
        known = replace(
            memory,
            windows=memory.windows.with_batch(past.scores),
            curve=curve,
            rule=Rules(place, place, xp.ones(())),
            opening=xp.zeros(()) > 0.0,
            people=past.scores.sum(),
            labels=past.labels.sum(),
        )
        return self.planned(setting, known, xp.uint32(0), xp.uint32(1))

    def propose(self, setting: Setting, memory: Memory, draws: Draws) -> Policy:
        """Play the current policy."""
        return memory.rule.policy(setting.grid)

    def observe(self, setting: Setting, memory: Memory, draws: Draws, played: Policy, feedback: Feedback) -> Memory:
        """Learn from the round; make a plan at the end of a stretch."""
        xp, (scores, labels) = namespace(setting.grid), feedback.observation.binned
        age = draws.round[0] + xp.uint32(1)
        told = replace(memory, curve=memory.curve.with_labels(labels), labels=memory.labels + labels.sum())
        memory = either(labels.sum() > 0, told, memory)
        seen = replace(memory, windows=memory.windows.with_batch(scores), people=memory.people + scores.sum())
        memory = taught(feedback, memory, seen)
        stretch = xp.clip(age // xp.uint32(STRETCH), 1, STRETCH)
        due = age % stretch == 0
        planned: Memory = when(due, lambda: self.planned(setting, memory, age, stretch), lambda: memory)
        return taught(feedback, memory, planned)

    def planned(self, setting: Setting, memory: Memory, age: Array, stretch: Array) -> Memory:
        """Return the memory with the policy of the next stretch."""
        xp, problem = namespace(setting.grid), setting.problem
        curve = memory.curve.fitted()
        prospects = Prospects.of(memory.windows.scores(), curve.estimate())
        rounds = xp.astype(age, setting.grid.dtype)
        known = (memory.people >= ENOUGH_PEOPLE) & (memory.labels >= ENOUGH_LABELS)
        opening = memory.opening & ~known & (rounds < LONGEST)
        now = search.best_of(problem, prospects, memory.rule.alone(), ERRORS)
        broad = (age // xp.asarray(stretch)) % BROAD == 0
        reach = self.reach(setting, memory.rule, now.excess <= 0.0)
        candidates = reach(self.candidates(setting, prospects, memory.rule))
        far, broken = when(
            broad | (rounds <= LONGEST),
            lambda: (
                search.best_of(problem, prospects, candidates, ERRORS),
                search.least_broken(problem, prospects, self.every(setting, prospects)),
            ),
            lambda: (now, xp.asarray(xp.nan, dtype=setting.grid.dtype)),
        )
        start = either((far.excess <= 0.0) & ((now.excess > 0.0) | (far.reward > now.reward)), far.rule, memory.rule)
        best = self.refined(setting, prospects, start, reach)
        better = (best.reward > now.reward + GAIN) | (now.excess > 0.0)
        replaced = (better | memory.opening) & ~opening
        rule = either(replaced, best.rule, memory.rule)
        safe = xp.where(replaced, best.excess, now.excess) <= 0.0
        lasted = xp.where(broken > STRONG, memory.against + rounds - memory.looked, 0.0)
        against = xp.where(xp.isnan(broken), memory.against, xp.where(opening, 0.0, lasted))
        looked = xp.where(xp.isnan(broken), memory.looked, rounds)
        infeasible = against >= xp.maximum(PATIENCE, 0.25 * rounds)
        return replace(
            memory, curve=curve, rule=rule, opening=opening, safe=safe & ~opening, against=against, looked=looked,
            infeasible=infeasible,
        )  # fmt: skip

    def every(self, setting: Setting, prospects: Prospects) -> Rules:
        """Return policies all over the class, without the uniform lotteries that a threshold may be replaced by."""
        arms = len(setting.grid)
        if self.policies == "lottery":
            return search.joined(search.thresholds(arms), search.uniform(arms), search.pairs(arms))
        if self.policies == "per-group":
            return search.joined(search.thresholds(arms), search.equal_rates(prospects))
        return search.thresholds(arms)

    def candidates(self, setting: Setting, prospects: Prospects, rule: Rules) -> Rules:
        """Return the policies of a broad search: `every`, uniform lotteries if allowed, and the current policy."""
        others = [search.uniform(len(setting.grid))] if self.lottery and self.policies != "lottery" else []
        return search.joined(self.every(setting, prospects), *others, rule.alone())

    def refined(self, setting: Setting, prospects: Prospects, start: Rules, reach: Reach) -> search.Found:
        """Return the best policy that small changes lead to."""
        arms, problem = len(setting.grid), setting.problem
        groups = setting.groups if self.policies == "per-group" else 1
        lotteries = self.policies == "lottery"
        near = search.near_lotteries(arms) if lotteries else search.near_thresholds(arms, groups)
        return search.improved(problem, prospects, start, ERRORS, lambda rule: reach(near(rule)))

    def reach(self, setting: Setting, rule: Rules, safe: Array) -> Reach:
        """Return a function that limits thresholds to small steps from a safe rule; with a lottery any step is fine."""
        xp, arms = namespace(setting.grid), len(setting.grid)
        most = xp.where(safe, max(1, arms // SMALL_STEP), arms)

        def limited(rules: Rules) -> Rules:
            low, high = (
                xp.clip(each, old - most, old + most) for each, old in ((rules.low, rule.low), (rules.high, rule.high))
            )
            return Rules(low, high, rules.weight)

        return (lambda rules: rules) if self.lottery else limited

    def recommend(self, setting: Setting, memory: Memory) -> Policy:
        """Recommend the current policy."""
        return memory.rule.policy(setting.grid)

    def traces(self, memory: Memory) -> dict[str, Array]:
        """Return whether the current policy is the opening, whether it is safe, and whether none is feasible."""
        return {"exploring": memory.opening * 1.0, "safe": memory.safe * 1.0, "infeasible": memory.infeasible * 1.0}
