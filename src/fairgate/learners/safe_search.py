"""SafeSearch: the recommended learner of level selective-labels, over the class of policies that a user names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from fairgate.errors import InputError, unknown_name
from fairgate.history import as_history
from fairgate.learners.base import Learner
from fairgate.learners.foresee_or_follow import ForeseeOrFollow
from fairgate.learners.per_group import PerGroup
from fairgate.learners.state import State
from fairgate.learners.tracking.learner import Tracking
from fairgate.policy import CLASSES, Policy
from fairgate.problem import Credit, Feedback
from fairgate.setting import Setting
from fairgate.settings import Array


@dataclass(frozen=True)
class SafeSearch(Learner[State]):
    r"""Find the best policy of a class that is safe, from the scores of all and the labels of the accepted.

    - ``policies="lottery"``: a lottery of two thresholds, the same for all groups. It *follows* the people who come:
      who they are now is learnt from as long a window as predicts the next ones best, and played is the lottery of
      highest reward whose residuals, by `width` standard errors, are at most 0 for them. Where people's answers to
      acceptance have proved to predict them, lotteries are compared by what they lead to; other acceptance rates are
      tried for a while, where what is at stake pays for it, to let answers show.
    - ``policies="threshold"``, the default: one threshold for everybody. :class:`~fairgate.SafeForecast` learns from a
      uniform lottery how people respond, and keeps the best threshold that is safe in its steady state; where that
      cannot be told or has proved wrong, the threshold follows the people who come. Without a `lottery`, with a
      `history`, or where a constraint looks at labels, it follows them from the beginning, by small steps within the
      safe set.
    - ``policies="per-group"``: a threshold per group, where that is lawful: :class:`~fairgate.learners.PerGroup`.

    ``docs/learners/safe-search.md`` has the whole rule and where it fails.

    Parameters
    ----------
    policies
        The class of policies: "threshold", "lottery" or "per-group".
    lottery
        Whether lotteries may be used to explore, and where no threshold is safe or worth keeping. Most lenders may not
        toss coins.
    history
        Past decisions under an old policy: a :class:`~fairgate.History`, a table, or the path of one. Nothing is
        explored at first, and nothing outside the safe set is tried.

    Examples
    --------
    No threshold is feasible here, but a lottery is that earns far more than a uniform one.

    >>> import fairgate as fg
    >>> task = fg.load_task("mean-shift")
    >>> run = fg.simulate(task, fg.SafeSearch(policies="lottery"), rounds=600, seeds=3)
    >>> round(run.summary()["population_reward"].mean, 2), round(run.summary()["feasible"].mean, 2)
    (-0.03, 1.0)
    """

    policies: str = "threshold"  # type: ignore[misc]  # a class variable of learners that play one class
    lottery: bool = True
    history: Any = None

    level: ClassVar[str] = "selective-labels"
    traces: ClassVar[tuple[str, ...]] = ("infeasible", "exploring", "safe")

    def __post_init__(self) -> None:
        object.__setattr__(self, "history", as_history(self.history))
        super().__post_init__()
        if self.policies not in CLASSES:
            raise unknown_name("policies", self.policies, CLASSES)
        if not isinstance(self.lottery, bool):
            raise InputError(f"SafeSearch: lottery must be True or False, got {self.lottery!r}")
        if self.policies == "lottery" and not self.lottery:
            raise InputError("SafeSearch: policies='lottery' plays lotteries, so that lottery must be True, got False")
        if self.policies == "per-group" and (self.history is not None or not self.lottery):
            raise InputError(
                "SafeSearch: policies='per-group' learns from a uniform lottery, so that lottery must be True and "
                f"history None, got lottery={self.lottery} and history={self.history!r}"
            )
        for name in ("searched", "version"):
            object.__setattr__(self, name, getattr(self.rule, name))

    @cached_property
    def rule(self) -> Learner[Any]:
        """The learner that plays this class."""
        if self.policies == "per-group":
            return PerGroup()
        if self.policies == "lottery":
            return Tracking(history=self.history)
        if self.lottery and self.history is None:
            return ForeseeOrFollow()
        return Tracking(only_thresholds=True, refuge=self.lottery, history=self.history)

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> State:
        """Start the rule."""
        state: State = self.rule.remember(setting, common)
        return state

    def propose(self, state: State) -> Policy:
        """Ask the rule."""
        return self.rule.propose(state)

    def learn(self, state: State, played: Policy, feedback: Feedback) -> None:
        """Tell the rule."""
        self.rule.learn(state, played, feedback)

    def credit(self, state: State, feedback: Feedback, credited: Sequence[Credit]) -> None:
        """Tell the rule of labels that arrived in a round in which nobody came."""
        self.rule.credit(state, feedback, credited)

    def recommend(self, state: State) -> Policy | None:
        """Ask the rule."""
        return self.rule.recommend(state)

    def trace(self, state: State, name: str) -> Array:
        """Return a trace of the rule."""
        return self.rule.trace(state, name)
