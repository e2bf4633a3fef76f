"""Simulate: many loops of many rounds, compiled by JAX, or one after the other in NumPy."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from fairgate import learners as configured
from fairgate import tasks
from fairgate.arrays import Array, record
from fairgate.block import joined
from fairgate.core import environments, learners
from fairgate.core.host import ArrayLearner, ArrayPeople, PureLearner, PurePeople, Stage, pieces
from fairgate.core.labels import LabelDelay
from fairgate.core.loop import Round, State, begin, play
from fairgate.core.setting import Setting, Task, register_parts
from fairgate.counts import Counts
from fairgate.errors import InputError
from fairgate.learners.base import as_learner, check_level
from fairgate.origin import Origin
from fairgate.policy import Policy
from fairgate.problem import Assessment, is_feasible, violation
from fairgate.random import Draws, key_of
from fairgate.run import Run
from fairgate.settings import whole_number
from fairgate.summary import Summary, gather, lengths_of
from fairgate.tail import tail_of

TOGETHER = 100
"""Loops that a processor's core plays together: their state stays in its cache."""

MANY = 1 << 17
"""Loops that a GPU plays together: enough to keep it busy."""

ARRAY = 250
"""Loops that a learner or an environment for arrays plays together."""

LIBRARIES = ("jax", "numpy")


@dataclasses.dataclass(frozen=True)
class Size:
    """How a simulation is carried out. No result depends on it, but for `bits`.

    Attributes
    ----------
    workers
        Threads, each with blocks of loops of its own.
    device
        ``"cpu"`` or ``"gpu"``; by default what JAX prefers.
    together
        Loops in a block; by default what suits the device.
    bits
        Of the numbers: 64, or 32, which is half as fast again on a GPU, and whose loops part from those of 64 bits
        where two thresholds are nearly as good. Their law is the same but for rounding.
    """

    workers: int = 1
    device: str | None = None
    together: int | None = None
    bits: int = 64


def simulate(
    task: tasks.Task,
    learner: Any,
    rounds: int = 3000,
    seeds: int = 10,
    *,
    seed: int = 0,
    batch: int = 256,
    keep: str = "run",
    tail: int | None = None,
    library: str | None = None,
    size: Size | None = None,
) -> Run | Summary:
    """Play `learner` on `task` in `seeds` independent loops.

    Random numbers are a function of seed, loop and round: all learners meet the same applicants as far as their
    policies leave the population alike, and the first loops and rounds of a longer simulation are those of a shorter.

    Parameters
    ----------
    task, learner
        What to do, and who does it. What has no pure form is driven round by round beside the compiled rest.
    rounds, seeds, seed, batch
        Length of each loop, number of loops, root of the random numbers, applicants per round.
    keep
        ``"run"`` keeps every round. ``"summary"`` keeps a line of figures per loop, in memory that does not grow with
        the rounds.
    tail
        Rounds at the end whose means a summary has; 200 by default, or the last fifth of a shorter run.
    library
        ``"jax"``, compiled, or ``"numpy"``, loop by loop; by default JAX if it is installed. Both play the same.
    size
        How it is carried out.

    Examples
    --------
    >>> import fairgate as fg
    >>> run = simulate(fg.load_task("german"), fg.OFS(), rounds=50, seeds=2, library="numpy")
    >>> run, run.thresholds.shape
    (Run(german: 2 replicates × 50 rounds, 2 groups), (2, 50, 2))
    """
    asked = {name: whole_number(name, value, 1) for name, value in (("rounds", rounds), ("seeds", seeds))}
    whole_number("batch", batch, 1)
    chosen = library or ("jax" if find_spec("jax") else "numpy")
    if chosen not in LIBRARIES:
        raise InputError(f"library must be one of {', '.join(LIBRARIES)}, got {library!r}")
    if not learners.is_pure(learner):
        learner = as_learner(learner)
    if isinstance(learner, configured.Learner):
        check_level(learner, task.problem)
    settings = {
        "task": task.describe(), "learner": _described(learner), **asked, "seed": seed, "batch": batch,
        "coupling": "common", "library": chosen,
    }  # fmt: skip
    last, whole = tail_of(rounds, tail), keep == "run"
    delay = LabelDelay.of(task.environment)
    setting = Setting(task.problem, task.thresholds, task.environment.group_count)
    pure = learners.pure(learner) if learners.is_pure(learner) else None
    if delay is not None and not getattr(pure, "learns_late", False):
        pure = None  # the learner for arrays credits late labels
    origin = Origin(task, learner, simulate)
    if pure is None or not environments.is_pure(task.environment):
        stages = [
            Stage(setting, delay, learner.level, batch, key_of(seed), numbers, chosen) for numbers in _blocks(seeds)
        ]
        lengths = [rounds] if whole else lengths_of(rounds, last)
        played = (_hosted(stage, task, learner, pure, seed, lengths, settings) for stage in stages)
        if whole:
            return dataclasses.replace(joined([run for (run,) in played]), settings=settings, origin=origin)
        found = [gather(each) for each in played]
        figures = {name: np.concatenate([each[name] for each in found]) for name in found[0]}
        return Summary(figures, {**settings, "tail": last})
    player = _compiled if chosen == "jax" else _plain
    found = player(
        Task(environments.pure(task.environment), setting, delay), pure, batch, key_of(seed), rounds=rounds,
        loops=seeds, first=rounds - last, whole=whole, size=size or Size(),
    )  # fmt: skip
    if keep == "summary":
        return Summary(
            {name: np.asarray(value) for name, value in found.figures(last).items()}, {**settings, "tail": last}
        )
    return dataclasses.replace(_run(found, task, settings), origin=origin)


def _hosted(
    stage: Stage,
    task: tasks.Task,
    learner: Any,
    pure: Any,
    seed: int,
    lengths: Sequence[int],
    settings: dict[str, Any],
) -> Iterator[Run]:
    """Play a block of loops round by round: learner, environment or both in plain Python."""
    own, nature = (np.random.default_rng([seed, int(stage.loops[0]), purpose]) for purpose in (1, 2))
    people: Any
    if environments.is_pure(task.environment):
        people = PurePeople(stage, environments.pure(task.environment))
    else:
        people = ArrayPeople(stage, task.environment, nature)
    player: Any = ArrayLearner(stage, learner, task, own) if pure is None else PureLearner(stage, pure)
    return pieces(people, player, task.problem, lengths, settings)


def _blocks(loops: int) -> list[Array]:
    return [np.arange(low, min(low + ARRAY, loops), dtype=np.uint32) for low in range(0, loops, ARRAY)]


def _described(learner: Any) -> dict[str, Any]:
    """Return class and settings of a learner."""
    if isinstance(learner, configured.Learner):
        return learner.describe()
    fields = dataclasses.fields(learner) if dataclasses.is_dataclass(learner) else ()
    return {"kind": type(learner).__name__, **{each.name: getattr(learner, each.name) for each in fields}}


@record
class Totals:
    """Sums of a loop: violations over all rounds, the rest over the final window."""

    reward: Array
    gap: Array
    violation: Array
    population_reward: Array
    population_gap: Array
    population_violation: Array
    acceptance: Array
    feasible: Array

    @classmethod
    def none(cls, xp: Any) -> Totals:
        """Return sums of nothing."""
        return cls(*[xp.zeros(()) for _ in dataclasses.fields(cls)])

    def add(self, problem: Any, happened: Round, counted: Array) -> Totals:
        """Add a round; `counted` is 1 in the final window, 0 before."""
        counts, exact = Counts(happened.counts), Counts(happened.probabilities)
        true = problem.assess(exact)
        return Totals(
            self.reward + counted * happened.assessed.reward,
            self.gap + counted * counts.gap,
            self.violation + violation(happened.assessed.residuals),
            self.population_reward + counted * true.reward,
            self.population_gap + counted * exact.gap,
            self.population_violation + violation(true.residuals),
            self.acceptance + counted * exact.overall,
            self.feasible + counted * is_feasible(true.residuals),
        )

    def figures(self, rounds: int) -> dict[str, Array]:
        """Return the figures of :meth:`fairgate.Run.per_replicate`; `rounds` are those of the final window."""
        found = {each.name: np.asarray(getattr(self, each.name)) for each in dataclasses.fields(self)}
        return {name: value if "violation" in name else value / rounds for name, value in found.items()}


class Played(NamedTuple):
    """What is kept of every round: (loops, rounds, …) each."""

    thresholds: Array
    weights: Array
    counts: Array
    probabilities: Array
    reward: Array
    residuals: Array
    traces: dict[str, Array]

    @classmethod
    def of(cls, happened: Round, traces: dict[str, Array]) -> Played:
        """Return what is kept of a round."""
        policy, assessed = happened.played, happened.assessed
        return cls(
            policy.thresholds, policy.weights, happened.counts, happened.probabilities, assessed.reward,
            assessed.residuals, traces,
        )  # fmt: skip


def _body(task: Task, learner: Any, batch: int, draws: Draws, state: State) -> tuple[State, Round, dict[str, Array]]:
    traces = learner.traces(state.memory) if hasattr(learner, "traces") else {}
    state, happened = play(task, learner, batch, draws, state)
    return state, happened, traces


def _plain(
    task: Task, learner: Any, batch: int, key: Array, *, rounds: int, loops: int, first: int, whole: bool, size: Size
) -> Any:
    """Play loop by loop in NumPy."""
    kept: list[Any] = []
    for loop in range(loops):
        first_draws = Draws(key, np.array([loop], dtype=np.uint32), np.zeros(1, dtype=np.uint32))
        state, totals, steps = begin(task, learner, first_draws), Totals.none(np), []
        for number in range(rounds):
            draws = dataclasses.replace(first_draws, round=np.array([number], dtype=np.uint32))
            state, happened, traces = _body(task, learner, batch, draws, state)
            if whole:
                steps.append(Played.of(happened, traces))
            else:
                totals = totals.add(task.setting.problem, happened, np.float64(number >= first))
        kept.append(_stacked(steps) if whole else totals)
    return _stacked(kept)


def _stacked(each: list[Any]) -> Any:
    """Stack the arrays of records that have the same fields along a new first axis."""
    one = each[0]
    if isinstance(one, dict):
        return {name: _stacked([every[name] for every in each]) for name in one}
    if isinstance(one, Played):
        return Played(*(_stacked([every[place] for every in each]) for place in range(len(one))))
    if isinstance(one, Totals):
        return Totals(*(_stacked([getattr(every, part.name) for every in each]) for part in dataclasses.fields(one)))
    return np.stack(each)


def _compiled(
    task: Task, learner: Any, batch: int, key: Array, *, rounds: int, loops: int, first: int, whole: bool, size: Size
) -> Any:
    """Play blocks of loops, compiled once for all of them: the last is filled up with loops that are dropped."""
    import jax

    register_parts(task.setting.problem)
    place = jax.devices(size.device)[0]
    together = min(loops, size.together or (MANY if place.platform == "gpu" else TOGETHER))
    given: Any = {"rounds": rounds} if whole else {"rounds": np.uint32(rounds), "first": np.uint32(first)}
    play_block = _rounds() if whole else _totals()

    def block(start: int) -> Any:
        numbers = np.arange(start, start + together, dtype=np.uint32)
        with jax.enable_x64(size.bits == 64), jax.default_device(place):  # of this thread alone
            found = play_block(task, learner, batch, key, numbers, **given)
            return jax.tree.map(lambda values: np.asarray(values)[: loops - start], found)

    with ThreadPoolExecutor(size.workers) as pool:  # compiled code leaves Python's lock alone
        blocks = list(pool.map(block, range(0, loops, together)))
    return blocks[0] if len(blocks) == 1 else jax.tree.map(lambda *parts: np.concatenate(parts), *blocks)


@functools.cache
def _rounds() -> Callable[..., Any]:
    """Return the compiled function that keeps every round of a block of loops."""
    import jax
    import jax.numpy as jnp

    @functools.partial(jax.jit, static_argnames=("batch", "rounds"))
    def run(task: Task, learner: Any, batch: int, key: Array, numbers: Array, *, rounds: int) -> Any:
        task, learner = jax.tree.map(jnp.asarray, (task, learner))

        def one(loop: Array) -> Any:
            def step(state: State, number: Array) -> Any:
                state, happened, traces = _body(task, learner, batch, Draws(key, loop[None], number[None]), state)
                return state, Played.of(happened, traces)

            start = begin(task, learner, Draws(key, loop[None], jnp.zeros(1, dtype=jnp.uint32)))
            return jax.lax.scan(step, start, jnp.arange(rounds, dtype=jnp.uint32))[1]

        return jax.vmap(one)(numbers)

    return run


@functools.cache
def _totals() -> Callable[..., Any]:
    """Return the compiled function that adds up the rounds of a block of loops, however many rounds there are."""
    import jax
    import jax.numpy as jnp

    @functools.partial(jax.jit, static_argnames="batch")
    def run(task: Task, learner: Any, batch: int, key: Array, numbers: Array, *, rounds: Array, first: Array) -> Any:
        task, learner = jax.tree.map(jnp.asarray, (task, learner))

        def one(loop: Array) -> Any:
            def step(number: Array, carried: Any) -> Any:
                state, totals = carried
                state, happened = play(task, learner, batch, Draws(key, loop[None], number[None]), state)
                return state, totals.add(task.setting.problem, happened, (number >= first) * 1.0)

            start = begin(task, learner, Draws(key, loop[None], jnp.zeros(1, dtype=jnp.uint32))), Totals.none(jnp)
            return jax.lax.fori_loop(jnp.uint32(0), rounds, step, start)[1]

        return jax.vmap(one)(numbers)

    return run


def _run(found: Played, task: tasks.Task, settings: dict[str, Any]) -> Run:
    """Return the rounds as a :class:`fairgate.Run`."""
    groups = task.environment.group_count
    thresholds = np.broadcast_to(found.thresholds, (*found.thresholds.shape[:-1], groups))
    true = task.problem.assess(np.moveaxis(found.probabilities, 1, 0))
    return Run(
        policies=Policy(np.moveaxis(thresholds, 2, 0), np.moveaxis(found.weights, 2, 0)),
        counts=found.counts.astype(np.int32),
        probabilities=found.probabilities,
        batch=Assessment(found.reward, np.moveaxis(found.residuals, 2, 0)),
        population=Assessment(true.reward.T, np.swapaxes(true.residuals, 1, 2)),
        traces={name: np.asarray(values, dtype=np.float64) for name, values in found.traces.items()},
        names=task.problem.names,
        settings=settings,
    )
