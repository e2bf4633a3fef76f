"""Trials: Tables I and VI with each open choice made otherwise, and which verdicts move."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from fairgate.estimates import Estimate
from fairgate.experiments import claims
from fairgate.experiments.choices import FIGURES, miss
from fairgate.experiments.jobs import Job
from fairgate.experiments.plan import METHODS, SEMI_SYNTHETIC, STRICT, TASKS, Context, Plan, paper
from fairgate.experiments.results import Cell, Row, Table
from fairgate.experiments.variants import VARIANTS
from fairgate.run import Run
from fairgate.settings import Array
from fairgate.simulation import simulate
from fairgate.store import Work, code_digest, read_table, table_bytes

AS_CHOSEN = "as-chosen"
"""What the variant without a name is called in tables and files."""

FEATURES = ("", "no-sex", "race", "sex-race")
"""The variants of what the score may use."""


class NotRunError(LookupError):
    """A job that a trial does not run."""


@dataclass(frozen=True)
class Held(Context):
    """The runs of a trial, held in memory; what it does not run cannot be looked at."""

    def hold(self, job: Job, run: Run) -> None:
        """Take up every round of a job."""
        self._runs[job.name] = run

    def load(self, job: Job) -> Run:
        """Every round of a job that is held."""
        if job.name not in self._runs:
            raise NotRunError(job.name)
        return self._runs[job.name]

    def figures(self, job: Job) -> Mapping[str, Array]:
        """One line per replicate of a job that is held."""
        self.load(job)
        return super().figures(job)

    def verdicts(self) -> dict[str, str]:
        """Judge, as the paper would, every claim that rests on these runs alone."""
        found = {}
        for key, (judge, *_) in claims.JUDGES.items():
            with suppress(NotRunError):
                found[key] = judge(claims.View(self))[0]
        return found


@dataclass(frozen=True)
class Trial:
    """The methods on all tasks with one choice made otherwise; its file has their figures and the verdicts."""

    base: Plan
    variant: str

    @property
    def name(self) -> str:
        """What its file is called."""
        return f"choices-{self.variant or AS_CHOSEN}"

    @property
    def plan(self) -> Plan:
        """The plan with the choice made otherwise."""
        rounds = max(self.base.tail, round(self.base.rounds * VARIANTS[self.variant].rounds))
        return replace(self.base, variant=self.variant, rounds=rounds, many=self.base.seeds)

    def jobs(self) -> list[Job]:
        """Tables I and VI."""
        return self.plan.jobs((*TASKS, *STRICT))

    @property
    def file(self) -> str:
        """File in which its outcome is kept."""
        return f"{self.name}.parquet"

    def digest(self) -> str:
        """Fingerprint of the settings and of the code that makes its file."""
        settings = [code_digest(keep), *(job.digest() for job in self.jobs())]
        return hashlib.sha256(json.dumps(settings).encode()).hexdigest()

    def work(self) -> Work:
        """What there is to do for its file."""
        cost = sum(job.work().cost for job in self.jobs() if not _is_usual(self, job))
        return Work(self.name, self.digest(), (self.file,), cost + 1.0, partial(keep, self))


@dataclass(frozen=True)
class Outcome:
    """What a trial came to: one value per seed of each figure by task and method, and every verdict by its claim."""

    figures: Mapping[str, Array]
    verdicts: Mapping[str, str]

    def mean(self, task: str, method: str, figure: str) -> float:
        """Mean over seeds."""
        return float(self.figures[f"{task}.{method}.{figure}"].mean())

    def miss(self, tasks: Sequence[str], methods: Sequence[str]) -> float:
        """Summed miss of the figures of some methods on some tasks, as the calibration counts it."""
        printed = paper()["table1"] | paper()["table6"]
        return sum(
            float(miss(figure, self.mean(task, method, figure), printed[task][method][figure][0]))
            for task in tasks
            for method in methods
            for figure in FIGURES
        )


def jobs(plan: Plan) -> list[Trial]:
    """A trial of every variant."""
    return [Trial(plan, name) for name in VARIANTS]


def _is_usual(trial: Trial, job: Job) -> bool:
    """Whether a variant changes nothing of a job."""
    usual = next(each for each in Trial(trial.base, "").jobs() if each.name == job.name)
    return job.task is usual.task and job.learner == usual.learner and job.rounds == usual.rounds


@cache
def _usual_run(base: Plan, name: str) -> Run:
    """Run a job as it was chosen, once a process."""
    return _run(next(job for job in Trial(base, "").jobs() if job.name == name))


def _run(job: Job) -> Run:
    return simulate(job.task, job.learner, job.rounds, job.seeds, seed=job.seed)


def keep(trial: Trial) -> dict[str, bytes]:
    """Run a trial, judge what can be judged by it, and return the file with figures and verdicts."""
    context = Held(trial.plan, Path())
    for job in trial.jobs():
        context.hold(job, _usual_run(trial.base, job.name) if _is_usual(trial, job) else _run(job))
    figures = {
        f"{task}.{method}.{figure}": context.figures(trial.plan.job(task, method))[figure]
        for task in (*TASKS, *STRICT)
        for method in METHODS
        for figure in FIGURES
    }
    return {trial.file: table_bytes(figures, {"verdicts": context.verdicts()})}


def outcomes(context: Context) -> dict[str, Outcome]:
    """Read what every trial came to."""
    found = {}
    for trial in jobs(context.plan):
        figures, header = read_table(context.folder / trial.file)
        found[trial.variant] = Outcome(figures, header["verdicts"])
    return found


def compute(context: Context) -> list[Table]:
    """What each choice moves, and the choice of features by itself."""
    found = outcomes(context)
    return [choices_table(found, context.plan), features_table(found)]


def moved(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """Write which verdicts moved, from which to which."""
    changes = [f"{key}: {was} → {after[key]}" for key, was in before.items() if after.get(key, was) != was]
    return "; ".join(changes) or "none"


def choices_table(found: Mapping[str, Outcome], plan: Plan) -> Table:
    """Lay out every variant: its summed misses, and the verdicts that it moves."""
    base, rows = found[""], []
    for name, outcome in found.items():
        cells = {"instead": Cell(VARIANTS[name].sentence)}
        cells |= {method: Cell(Estimate(outcome.miss(TASKS, [method])), digits=2) for method in METHODS}
        cells["strict"] = Cell(Estimate(outcome.miss(STRICT, METHODS)), digits=2)
        cells["moved"] = Cell("" if outcome is base else moved(base.verdicts, outcome.verdicts))
        rows.append(Row((VARIANTS[name].choice or "none", name or AS_CHOSEN), cells))
    columns = {
        "instead": "Instead",
        "unconstrained": "Miss of U, Table I",
        "primal-dual": "Miss of PD, Table I",
        "ofs": "Miss of OFS, Table I",
        "strict": "Miss of all, Table VI",
        "moved": "Verdicts that move",
    }
    note = (
        f"One open choice made otherwise, all others as they are; {plan.seeds} seeds of {plan.rounds} rounds. The miss "
        "sums |difference| / 0.1 for rewards and |log of the ratio| for gaps and violations, as the calibration does, "
        "which searched for U and PD on Table I; a gap of 0 counts as 1e-9. Of the claims, "
        f"{len(base.verdicts)} rest on these runs alone and are judged again, by batch figures."
    )
    return Table("choices", "What other choices would change", note, ("choice", "variant"), columns, rows)


def features_table(found: Mapping[str, Outcome]) -> Table:
    """Lay out what the score may use: as chosen and otherwise, beside the paper."""
    titles = {"": "with sex", "no-sex": "without", "race": "with race", "sex-race": "with both"}
    rows = []
    for task in SEMI_SYNTHETIC:
        for method in METHODS:
            for name in FEATURES if task == "compas" else FEATURES[:2]:
                printed = paper()["table1"][task][method]
                cells = {
                    figure: Cell(
                        Estimate.of(found[name].figures[f"{task}.{method}.{figure}"]),
                        Estimate(printed[figure][0], sd=printed[figure][1]),
                        2 if figure == "violation" else 4,
                    )
                    for figure in FIGURES
                }
                mean, sd = paper()["table6"][f"{task}-strict"][method]["violation"]
                strict = Estimate.of(found[name].figures[f"{task}-strict.{method}.violation"])
                cells["strict"] = Cell(strict, Estimate(mean, sd=sd), 2)
                cells["miss"] = Cell(Estimate(found[name].miss([task], [method])), digits=2)
                rows.append(Row((task, method, titles[name]), cells))
    columns = {
        "reward": "Reward",
        "gap": "DP gap",
        "violation": "Cum. violation",
        "strict": "Cum. violation, strict",
        "miss": "Summed miss, Table I",
    }
    note = (
        "What the score may use beside the tables' other columns, all other choices as they are; they were calibrated "
        "with sex. German has no race."
    )
    return Table(
        "features", "Sex and race among the score's features", note, ("task", "method", "features"), columns, rows
    )
