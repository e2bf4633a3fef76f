"""advise: from applicants and aims to findings, figures, loops and a recommendation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairgate.advice.aims import STRENGTHS, Aims
from fairgate.advice.backtest import BacktestPeriod, backtest
from fairgate.advice.choice import choose
from fairgate.advice.findings import Finding, inspect
from fairgate.advice.history import FeedbackEstimate, estimate_feedback
from fairgate.advice.loop import Outcome, run_loops
from fairgate.advice.recommendation import Recommendation, recommend
from fairgate.advice.steady import Reference, Response, Steady, reference_rates, settle
from fairgate.advice.today import Today, look
from fairgate.errors import InputError
from fairgate.people.applicants import Applicants


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
        How learners and kept thresholds fare, by strength of feedback.
    recommendation
        What to do.
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
    reference: Reference
    feedback: FeedbackEstimate | None
    backtest: list[BacktestPeriod]

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
    ('safe', 'risk_score ≥ 0.547')
    """
    if not isinstance(applicants, Applicants):
        raise InputError(f"applicants must come from from_frame or from_file, got {type(applicants).__name__}")
    if not isinstance(aims, Aims | None):
        raise InputError(f"aims must be Aims(…), got {type(aims).__name__}")
    aims = Aims() if aims is None else aims
    findings = inspect(applicants, aims)
    today = look(applicants, aims)
    candidates = applicants.coarsened()
    today_best = settle(candidates, aims.problem, Response(0.0, 0.0)).cut
    reference = reference_rates(candidates, aims)
    history = candidates.history
    feedback = None if history is None else estimate_feedback(history, candidates.groups)
    strengths = aims.feedback or (feedback and feedback.strengths) or STRENGTHS
    steady = [settle(candidates, aims.problem, Response(strength, reference.rates)) for strength in strengths]
    choice = choose(candidates, aims.problem, steady[0].response, aims.seed)
    recommendation = recommend(candidates, aims, look(candidates, aims), choice, steady)
    loops = run_loops(candidates, aims, steady, choice, today_best, quiet=quiet)
    tested = [] if history is None else backtest(candidates, history, aims)
    return Advice(
        applicants, aims, findings, today, candidates, steady, loops, recommendation, reference, feedback, tested
    )
