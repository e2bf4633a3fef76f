"""advise: from applicants and aims to findings, figures, loops and a recommendation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairgate.advice.aims import STRENGTHS, Aims
from fairgate.advice.backtest import BacktestPeriod, backtest
from fairgate.advice.by_group import ByGroup, by_group
from fairgate.advice.change import Change, compare
from fairgate.advice.choice import Choice, choose, nobody_is_better
from fairgate.advice.feedback import FeedbackEstimate, estimate_feedback
from fairgate.advice.findings import Finding, inspect, warn
from fairgate.advice.frontier import Frontier, frontier
from fairgate.advice.loop import Outcome, run_loops
from fairgate.advice.money import money_of
from fairgate.advice.recommendation import Recommendation, recommend
from fairgate.advice.report.words import badge
from fairgate.advice.steady import Reference, Response, Steady, reference_rates, settle
from fairgate.advice.today import Today, counted, look
from fairgate.constraints.base import check_residuals
from fairgate.errors import InputError
from fairgate.people.applicants import Applicants
from fairgate.progress import stage


@dataclass(frozen=True, eq=False, repr=False)
class Advice:
    """Everything found out about a table.

    Attributes
    ----------
    applicants, aims
        The table, reduced to counts, and what is wanted.
    findings
        What should make its owner think.
    today
        Figures of every threshold for the people as they are.
    candidates
        The table with at most 512 bins, whose cuts are the thresholds of `steady` and `recommendation`.
    steady
        The best threshold in the long run under every strength of feedback.
    loops
        How learners and kept thresholds fare, by strength of feedback; empty unless `Aims.loops` asks for it.
    recommendation
        What to do.
    groups
        Each group's figures under the recommendation and today, and what the score is like there.
    change
        Who would be decided differently from today; None if neither decisions nor a threshold in use are known.
    frontiers
        What reward each gap allows, for the people as they are and under the feedback the recommendation is for.
    reference
        The acceptance rates at which groups stay as they are.
    feedback
        What the history says of feedback; None without one.
    backtest
        What the advice would have given, period by period; empty without a history.
    """

    applicants: Applicants
    aims: Aims
    findings: list[Finding]
    today: Today
    candidates: Applicants
    steady: list[Steady]
    loops: dict[float, list[Outcome]]
    recommendation: Recommendation
    groups: ByGroup
    change: Change | None
    frontiers: dict[float, Frontier]
    reference: Reference
    feedback: FeedbackEstimate | None
    backtest: list[BacktestPeriod]

    @property
    def _word(self) -> str:
        return badge(self.recommendation.status, required=bool(self.aims.problem.constraints))[1]

    def __repr__(self) -> str:
        made = self.recommendation
        reward = money_of(self.applicants, self.aims).per_person(made.reward.value)
        return f"Advice({self._word}: {made.rule}, {reward} per person, {self.applicants!r})"

    def __str__(self) -> str:
        return f"{self._word.upper()} {self.recommendation.rule}\n{self.recommendation.text}"

    def thresholds(self) -> dict[str, Any]:
        """Return the figures of every threshold as columns, those of ``thresholds.csv``."""
        today, groups = self.today, self.applicants.groups
        known = today.known
        columns: dict[str, Any] = {"threshold": today.thresholds}
        ends = ("", "_low", "_high")
        columns |= {f"acceptance{end}": values for end, values in zip(ends, today.acceptance, strict=True)}
        for place, name in enumerate(groups):
            columns |= {f"acceptance{end} {name}": rates[place] for end, rates in zip(ends, today.rates, strict=True)}
        columns |= {f"gap{end}": values for end, values in zip(ends, today.gap, strict=True)}
        for end, values in zip(ends, today.reward, strict=True):
            columns[f"reward{end}"] = np.where(known, values, np.nan)
        columns |= {"reward_if_missing_0": today.worst, "reward_if_missing_1": today.best}
        for name, residual in zip(self.aims.problem.names, today.residuals, strict=True):
            columns[f"residual {name}"] = residual
        return columns | {"known": known, "feasible": today.feasible}

    def thresholds_frame(self, like: Any) -> Any:
        """Return the figures of every threshold as the same kind of table as `like`: pandas, polars or pyarrow."""
        import narwhals as nw

        columns = {name: values.tolist() for name, values in self.thresholds().items()}
        try:
            return nw.from_dict(columns, backend=nw.get_native_namespace(nw.from_native(like))).to_native()
        except (TypeError, ValueError):
            raise InputError(f"like must be a table of pandas, polars or pyarrow, got {type(like).__name__}") from None


def advise(applicants: Applicants, aims: Aims | None = None, *, quiet: bool = True) -> Advice:
    """Find the threshold to use for these people, and all there is to know about it.

    Parameters
    ----------
    applicants
        From :func:`fairgate.from_frame` or :func:`fairgate.from_file`.
    aims
        What is wanted and required.
    quiet
        Whether to keep progress to oneself.

    Examples
    --------
    >>> import fairgate as fg
    >>> from fairgate.advice.example import example_table
    >>> people = fg.from_frame(example_table(), score="risk_score", label="repaid", group="sex")
    >>> constraints = [fg.DemographicParity(0.10), fg.ServiceRate(0.3, 0.8)]
    >>> advice = fg.advise(people, fg.Aims(cost=2.0, constraints=constraints, seeds=2, rounds=100))
    >>> advice.recommendation.status, advice.recommendation.rule
    ('sure', 'risk_score ≥ 0.541')
    >>> print(advice)                                       # doctest: +ELLIPSIS
    SURE risk_score ≥ 0.541
    Accept people with risk_score ≥ 0.541. With probability at least 0.9 this keeps every constraint, ...
    """
    if not isinstance(applicants, Applicants):
        raise InputError(f"applicants must come from from_frame or from_file, got {type(applicants).__name__}")
    if not isinstance(aims, Aims | None):
        raise InputError(f"aims must be Aims(…), got {type(aims).__name__}")
    aims = Aims() if aims is None else aims
    findings = inspect(applicants, aims)
    stage("working out every threshold", quiet=quiet)
    candidates = candidates_of(applicants, aims)
    reference = reference_rates(candidates, aims)
    past = applicants.coarsened()  # whose bins are those of the history
    history = past.history
    if history is not None:
        stage("reading the history", quiet=quiet)
    feedback = None if history is None else estimate_feedback(history, past.groups)
    strengths = aims.feedback or (feedback and feedback.strengths) or STRENGTHS
    stage("looking at the long run", quiet=quiet)
    responses = [Response(strength, reference.rates) for strength in strengths]
    steady, choice = look_ahead(applicants, candidates, aims, responses)
    if nobody_is_better(candidates, aims.problem, choice):
        applicants = applicants.with_nobody()
        candidates, past = candidates_of(applicants, aims), applicants.coarsened()
        history = past.history
        steady, choice = look_ahead(applicants, candidates, aims, responses)
    today = look(applicants, aims)
    today_best = settle(candidates, aims.problem, Response(0.0, 0.0)).cut
    recommendation = recommend(candidates, aims, look(candidates, aims), choice, steady, whole=applicants)
    findings += warn(candidates, recommendation.rates)
    if recommendation.reward.value < 0.0:
        text = "The recommended rule loses: accepting nobody would earn more, but breaks a constraint."
        findings.append(Finding("loss", "warning", text))
    stage("", quiet=quiet)
    loops = run_loops(candidates, aims, steady, choice, today_best, quiet=quiet) if aims.loops else {}
    cut = float(candidates.cuts[recommendation.cut])
    groups = by_group(applicants, cut, recommendation.rule_in_words, aims.current)
    change = compare(applicants, aims, cut)
    frontiers = find_frontiers(candidates, aims, steady)
    tested = [] if history is None else backtest(past, history, aims)
    return Advice(
        applicants,
        aims,
        findings,
        today,
        candidates,
        steady,
        loops,
        recommendation,
        groups,
        change,
        frontiers,
        reference,
        feedback,
        tested,
    )


def look_ahead(
    applicants: Applicants, candidates: Applicants, aims: Aims, responses: list[Response]
) -> tuple[list[Steady], Choice]:
    """Find the best threshold in the long run under each response, and choose one under the first."""
    steady = [settle(candidates, aims.problem, response) for response in responses]
    return steady, choose(candidates, aims.problem, responses[0], aims.sure, aims.seed, whole=applicants)


def find_frontiers(candidates: Applicants, aims: Aims, steady: list[Steady]) -> dict[float, Frontier]:
    """Return the frontier for the people as they are, and for the feedback the recommendation is made for."""
    today = settle(candidates, aims.problem, Response(0.0, steady[0].response.balance))
    return {
        each.response.strength: frontier(
            candidates,
            each.sweep.gap,
            each.sweep.reward,
            aims.unit_cost,
            per_group=each.response.strength == 0.0,
        )
        for each in (today, steady[0])
    }


def candidates_of(applicants: Applicants, aims: Aims) -> Applicants:
    """Join bins until there are about 512, so that the best or nearest of all thresholds today is one of them.

    The threshold in use is one of them, too, so that keeping it changes nothing. Constraints whose residuals do not fit
    their names are refused here, before anything is read off them.
    """
    check_residuals(aims.problem.constraints, counted(applicants))
    places = [settle(applicants, aims.problem, Response(0.0, 0.0)).cut]
    places += [] if applicants.above[:, -1].any() else [len(applicants.cuts) - 1]  # accepting nobody
    if aims.current is not None:
        in_use = int(np.searchsorted(applicants.cuts, applicants.shown(aims.current)))
        places += [in_use] if in_use < len(applicants.cuts) else []
    return applicants.coarsened(at=places)
