"""Comparison: is one learner better than another? Paired over seeds, with an interval and a two-sided test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from fairgate.against import Reference, State, check_state
from fairgate.errors import InputError, unknown_name
from fairgate.estimates import Estimate
from fairgate.run import Run
from fairgate.settings import Array
from fairgate.statistics import sign_flip_test
from fairgate.summary import Summary
from fairgate.tail import tail_of

SHARED = ("task", "rounds", "seed", "batch", "coupling", "seeds")
"""Settings in which two runs must agree for their seeds to be pairs."""

ROOT = 0
"""Root of the random numbers of the test, so that the same runs always give the same figures."""


class Comparison(NamedTuple):
    """By how much a figure of one run is above that of another, seed by seed.

    Attributes
    ----------
    difference
        Mean difference with the ends of its 95% t-interval, sd and number of seeds.
    p_value
        Two-sided: how likely so large a mean difference is if it made no difference which run is which.
    above
        Share of seeds in which the first is above the second; equal ones count half.
    """

    difference: Estimate
    p_value: float
    above: float

    def __str__(self) -> str:
        low, high = self.difference.low, self.difference.high
        return f"{self.difference.value:+.4f} [{low:+.4f}, {high:+.4f}], p = {self.p_value:.2g}"


def compare(
    ours: Run | Summary,
    theirs: Run | Summary,
    figure: str = "population_reward",
    *,
    oracle: Reference | None = None,
    state: State = "steady",
    tail: int | None = None,
) -> Comparison:
    """Compare a figure of two runs that met the same people, seed by seed.

    Parameters
    ----------
    ours, theirs
        Runs on the same task with the same rounds, seeds, seed and batch size, with common people (the default).
    figure
        One of :meth:`Run.per_replicate`, or with an `oracle` of :meth:`Against.per_replicate`, such as ``"regret"``.
    oracle, state
        What regret, shortfall and success are judged by, and in which state of the population; see
        :meth:`Run.against`. A sweep judges by the population as it was, which is ``"actual"``.
    tail
        Rounds at the end that means are of: by default 200, or the last fifth of a shorter run. What was kept as a
        summary has the tail it was simulated with, and no other.

    Returns
    -------
    Comparison
        The mean difference with a t-interval, and the p-value of a sign-flip test
        (:func:`~fairgate.statistics.sign_flip_test`), exact for up to 16 seeds. Correct the p-values of many
        comparisons with :func:`~fairgate.statistics.holm`.

    Examples
    --------
    >>> import fairgate as fg
    >>> task = fg.load_task("interior")
    >>> ours, theirs = (fg.simulate(task, fg.load_learner(name), 300, 12) for name in ("smooth-optimist", "ofs"))
    >>> found = fg.compare(ours, theirs, "population_violation")
    >>> found.difference.high < 0.0, found.p_value
    (True, 0.00048828125)
    """
    check_pairs({"ours": ours, "theirs": theirs})
    last = common_tail({"ours": ours, "theirs": theirs}, tail)
    first, second = (figures_of(run, oracle, state, last) for run in (ours, theirs))
    if figure not in first:
        raise unknown_name("figure", figure, first)
    return compared(first[figure], second[figure])


def compared(ours: Array, theirs: Array) -> Comparison:
    """Compare paired figures, (seeds,) each."""
    gap = (np.asarray(ours, dtype=np.float64) - np.asarray(theirs, dtype=np.float64))[:, None]
    if np.isnan(gap).any():
        return Comparison(Estimate(np.nan, seeds=len(gap)), np.nan, np.nan)
    p_value = float(sign_flip_test(gap, rng=np.random.default_rng(ROOT))[0])
    above = float(((gap > 0) + 0.5 * (gap == 0)).mean())
    return Comparison(Estimate.of(gap[:, 0]), p_value, above)


def figures_of(run: Run | Summary, oracle: Reference | None, state: State, tail: int) -> dict[str, Array]:
    """Return every figure of a run by seed, (R,), those against an oracle included if there is one."""
    check_state(state, oracle)
    if isinstance(run, Summary):
        if oracle is not None:
            raise InputError(f"oracle judges rounds, of which {run!r} keeps none: simulate with keep='run'")
        return run.per_replicate()
    found = {} if oracle is None else run.against(oracle, state=state).per_replicate(tail)
    return found | run.per_replicate(tail)


def common_tail(runs: Mapping[str, Run | Summary], asked: int | None) -> int:
    """Return the tail that the figures of all runs are of; say so if they are of different ones, or not of `asked`."""
    tails = {
        name: int(run.settings["tail"]) if isinstance(run, Summary) else tail_of(run.rounds, asked)
        for name, run in runs.items()
    }
    (name, first), *others = tails.items()
    for each, tail in tails.items():
        if asked is not None and tail != asked:
            raise InputError(f"tail must be {tail}, the rounds that the summary of {each} is of, got {asked}")
    for other, tail in others:
        if tail != first:
            raise InputError(
                f"runs must have the same tail to be compared, but it is the last {first} rounds in {name} and the "
                f"last {tail} in {other}"
            )
    return first


def check_pairs(runs: Mapping[str, Run | Summary]) -> None:
    """Say so if the seeds of runs are no pairs: only then is the noise they share taken out."""
    (name, first), *others = runs.items()
    _check_common(name, first.settings)
    for other, run in others:
        if ("library" in first.settings) != ("library" in run.settings):
            raise InputError(
                "runs must be pairs to be compared seed by seed, but library was given for one of "
                f"{name} and {other} only, and its random numbers differ"
            )
        for key in SHARED:
            ours, theirs = first.settings[key], run.settings[key]
            if ours != theirs:
                if key == "task":
                    ours, theirs = (
                        (ours["name"], theirs["name"]) if ours["name"] != theirs["name"] else ("one", "another")
                    )
                raise InputError(
                    f"runs must be pairs to be compared seed by seed, but {key} is {ours!r} in {name} and {theirs!r} "
                    f"in {other}"
                )


def _check_common(name: str, settings: Mapping[str, Any]) -> None:
    if settings["coupling"] != "common":
        raise InputError(
            f"runs must meet the same people to be compared seed by seed, but coupling is {settings['coupling']!r} in "
            f"{name}: simulate with coupling='common'"
        )
