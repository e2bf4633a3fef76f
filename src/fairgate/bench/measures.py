"""Measures: what each replicate of a run is judged by, against the exact truth, and its thinned learning curve."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.against import SUCCESS, Against, compare, known_regret
from fairgate.bench.share import share_of, worth, yardsticks_of
from fairgate.problem import Assessment, is_feasible, violation
from fairgate.run import Run
from fairgate.settings import Array
from fairgate.statistics import iqm
from fairgate.tail import tail_of
from fairgate.truth import Truth

TARGETS = {"success": SUCCESS, "success_tight": (0.003, 0.005)}
"""Largest regret and largest residual of what a learner settles on that still meet a target."""

TARGET = {"bandit": "success", "scores": "success", "selective-labels": "success_tight", "full-labels": "success_tight"}
"""The target of each feedback level."""

STEADY = 0.95
"""Share of the remaining rounds that must be feasible from the time to feasible on."""

POINTS = 100
"""Rounds of a learning curve, evenly spaced on a log scale."""


def measure(run: Run, truth: Truth, judged: Against | None = None) -> dict[str, Array]:
    """Judge each replicate of a run, (R,) per measure.

    `truth` is that of its task, from :func:`~fairgate.truth.truth_of`; `judged` what the run's
    `against` finds, if that is known already. The measures are ``regret``, ``violation``, ``steady_violation``,
    ``excess_violation``, ``shortfall``, ``share``, ``feasible``, ``feasible_tail``, ``time_to_feasible``,
    ``tail_reward``, ``tail_violation``, ``final_regret``, ``final_residual``, ``final_excess``, ``says_infeasible``,
    ``success`` and ``success_tight``; docs/bench.md says what each is.

    Examples
    --------
    >>> import fairgate as fg
    >>> from fairgate.truth import truth_of
    >>> task = fg.load_task("mve-s")
    >>> best = fg.Fixed(fg.oracle(task).best.threshold)
    >>> found = measure(fg.simulate(task, best, rounds=100, seeds=2), truth_of(task, 100))
    >>> found["regret"], found["success_tight"]
    (array([0., 0.]), array([1., 1.]))
    """
    judged = run.against(truth) if judged is None else judged
    tail = slice(run.rounds - tail_of(run.rounds), None)
    met = is_feasible(run.population.residuals)
    actual = violation(run.population.residuals)
    hopeless = bool(np.isnan(judged.regret).all())
    found = {
        "regret": np.full(run.replicates, np.nan) if hopeless else np.nansum(judged.regret, axis=1),
        "violation": actual.sum(axis=1),
        "steady_violation": judged.violation.sum(axis=1),
        "excess_violation": judged.excess.mean(axis=1),
        "shortfall": judged.shortfall.mean(axis=1),
        "share": _share(run, truth),
        "feasible": met.mean(axis=1),
        "feasible_tail": met[:, tail].mean(axis=1),
        "time_to_feasible": time_to_feasible(met),
        "tail_reward": run.population.reward[:, tail].mean(axis=1),
        "tail_violation": actual[:, tail].mean(axis=1),
    }
    said = run.traces.get("infeasible", np.zeros((run.replicates, run.rounds)))
    found["says_infeasible"] = (said[:, tail] == 1).mean(axis=1)
    return {**found, **_final(run, truth, tail, found["says_infeasible"])}


def _share(run: Run, truth: Truth) -> Array:
    """Return what was earned as a share of what the best fixed lottery earns, (R,); NaN where nothing could be."""
    best = yardsticks_of(truth.task, truth.rounds)
    fair, lottery = (each[:, : run.rounds] for each in (best.fair, best.lottery))
    return share_of(worth(run.population), fair, lottery)


def _final(run: Run, truth: Truth, tail: slice, says_infeasible: Array) -> dict[str, Array]:
    """Judge what each replicate settled on, and whether that meets the targets."""
    lately = Assessment(run.population.reward[:, tail].mean(axis=1), run.population.residuals[..., tail].mean(axis=2))
    settled_on = run.settled()
    settled = lately if settled_on.is_lottery.any() else truth.last.solve(settled_on.single)
    end = compare(settled, truth.last.reward, truth.last.least)
    found = {"final_regret": end.regret, "final_residual": end.residual, "final_excess": end.excess}
    for name, (regret, most) in TARGETS.items():
        if truth.last.feasible:
            met = end.within(regret, most)
        else:
            met = is_feasible(settled.residuals) | is_feasible(lately.residuals) | (says_infeasible >= 0.5)
        found[name] = met.astype(np.float64)
    return found


def time_to_feasible(met: NDArray[np.bool_]) -> Array:
    """Return the first round from which at least 95% of the remaining rounds are met, (R,); all rounds if never.

    >>> time_to_feasible(np.array([[False, True, True], [True, True, True], [True, True, False]]))
    array([1., 0., 3.])
    """
    rounds = met.shape[1]
    remaining = np.arange(rounds, 0, -1)
    lasting = met[:, ::-1].cumsum(axis=1)[:, ::-1] >= STEADY * remaining
    return np.where(lasting.any(axis=1), lasting.argmax(axis=1), float(rounds))


def curve(run: Run, judged: Against) -> dict[str, NDArray[Any]]:
    """Return the learning curve: about 100 rounds, and mean, interquartile mean and quartiles of each quantity there.

    Columns are ``round`` and, for each quantity, ``_mean``, ``_iqm``, ``_low`` and ``_high`` over replicates. Regret
    and violation are sums up to a round, the gap of rewards is the mean since the point before, and the shortfall the
    mean of all rounds so far.
    """
    points = np.unique(np.geomspace(1, run.rounds, POINTS).round().astype(np.int64))
    gap = known_regret(judged.regret)
    actual = violation(run.population.residuals)
    sums = {"regret": gap, "violation": actual, "gap": gap, "shortfall": judged.shortfall}
    found: dict[str, NDArray[Any]] = {"round": points}
    for name, each in sums.items():
        values = each.cumsum(axis=1)[:, points - 1]
        if name == "gap":
            values = np.diff(values, prepend=0.0, axis=1) / np.diff(points, prepend=0)
        elif name == "shortfall":
            values = values / points
        found[f"{name}_mean"] = values.mean(axis=0)
        found[f"{name}_iqm"] = iqm(values, axis=0)
        found[f"{name}_low"], found[f"{name}_high"] = np.quantile(values, [0.25, 0.75], axis=0)
    return found
