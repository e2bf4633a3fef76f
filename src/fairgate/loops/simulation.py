"""Simulation: play many loops of many rounds, compiled by JAX or one after another in NumPy."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from fairgate import setting, tasks
from fairgate.arrays import Array, piled, record
from fairgate.block import blocks_of, joined
from fairgate.core import environments
from fairgate.core.labels import LabelDelay
from fairgate.core.loop import Round, State, begin, play
from fairgate.core.setting import Setting, Task
from fairgate.counts import Counts
from fairgate.errors import InputError
from fairgate.learners.base import check_level
from fairgate.learners.one_loop import OneLoop
from fairgate.learners.own import OwnRule, as_learner
from fairgate.loops.cast import Cast
from fairgate.loops.host import ArrayLearner, ArrayPeople, PureLearner, PurePeople, Stage, pieces
from fairgate.loops.pure import is_pure, pure
from fairgate.origin import Origin
from fairgate.policy import Policy
from fairgate.problem import Assessment, Problem, is_feasible, violation
from fairgate.random import Draws, key_of
from fairgate.run import Run
from fairgate.settings import Index, common_replicates, described, loops_asked, rows_of, whole_number
from fairgate.summary import Summary, gather, lengths_of
from fairgate.tail import kept_tail

TOGETHER = 100
"""Loops that a processor core plays together, few enough for their state to stay in its cache."""

MANY = 1 << 17
"""Loops that a GPU plays together, enough to keep it busy."""

ARRAY = 250
"""Loops that a learner or an environment for arrays plays together."""

LIBRARIES = ("jax", "numpy")


@dataclasses.dataclass(frozen=True)
class Size:
    """Execution settings of a simulation. Among them, only `bits` affects the results.

    Attributes
    ----------
    workers
        Number of threads, each of which plays separate blocks of loops.
    device
        ``"cpu"`` or ``"gpu"``; by default the device that JAX prefers.
    together
        Loops in a block; by default a number that suits the device.
    bits
        Bits of each number: 64, or 32, which is 1.5 times as fast on a GPU. Loops of 32 bits diverge from those of 64
        bits where two thresholds are nearly equally good; their distribution is the same except for rounding.
    """

    workers: int = 1
    device: str | None = None
    together: int | None = None
    bits: int = 64


def simulate(
    task: tasks.Task | Task,
    learner: Any,
    rounds: int = 3000,
    seeds: int | None = None,
    *,
    seed: int = 0,
    batch: int = 256,
    keep: str = "run",
    tail: int | None = None,
    library: str | None = None,
    size: Size | None = None,
) -> Run | Summary:
    """Play `learner` on `task` in `seeds` independent loops.

    Random numbers are a function of seed, loop and round. All learners therefore meet the same applicants as long as
    their policies leave the population in the same state. The first loops and rounds of a longer simulation equal those
    of a shorter one.

    Parameters
    ----------
    task, learner
        The task, or one in pure form (:class:`fairgate.core.setting.Task`), and the learner that plays it. A task or
        learner without a pure form runs round by round in plain Python, next to the pure form of the rest.
    rounds, seeds, seed, batch
        Length of each loop, number of loops, seed of the random numbers, applicants per round. By default there is one
        loop per value of settings that vary by replicate, else 10 loops.
    keep
        ``"run"`` keeps every round. ``"summary"`` keeps one line of figures per loop, in memory that does not grow
        with the rounds.
    tail
        Number of final rounds that a summary averages; by default the last fifth of the run, at most 200.
    library
        ``"jax"``, compiled, or ``"numpy"``, loop by loop; by default JAX if it is installed. Both play the same loops.
    size
        Execution settings.

    Examples
    --------
    >>> import fairgate as fg
    >>> run = simulate(fg.load_task("german"), fg.OFS(), rounds=50, seeds=2, library="numpy")
    >>> run, run.thresholds.shape
    (Run(german: 2 replicates × 50 rounds, 2 groups), (2, 50, 2))
    """
    given = OwnTask(task) if isinstance(task, Task) else task
    learner = as_learner(learner)
    check_level(learner, given.problem)
    varying = common_replicates({"the task": given.replicates, "the learner": learner.replicates})
    loops = loops_asked(seeds, varying)
    whole_number("rounds", rounds, 1)
    whole_number("batch", batch, 1)
    compiles = not isinstance(learner, OwnRule) or learner.compiles
    chosen = library if library is not None else "jax" if find_spec("jax") and compiles else "numpy"
    if chosen not in LIBRARIES:
        raise InputError(f"library must be one of {', '.join(LIBRARIES)}, got {library!r}")
    if chosen == "jax" and find_spec("jax") is None:
        raise InputError("library 'jax' needs JAX, which is not installed: pip install 'fairgate[sim]'")
    if chosen == "jax" and not compiles:
        raise InputError(f"library 'jax' needs a record, which {learner.name} is not: write @record above its class")
    settings = {
        "task": given.describe(), "learner": learner.describe(), "rounds": rounds, "seeds": loops, "seed": seed,
        "batch": batch, "coupling": "common", "library": chosen,
    }  # fmt: skip
    last, whole = kept_tail(rounds, tail, keep), keep == "run"
    origin = None if isinstance(given, OwnTask) else Origin(given, learner, simulate)
    if not _is_pure(given) or _pure_learner(learner, given) is None:
        lengths = [rounds] if whole else lengths_of(rounds, last)
        played = [_hosted(given, learner, key_of(seed), batch, chosen, block) for block in blocks_of(loops, ARRAY)]
        runs = (pieces(*each, lengths, settings) for each in played)
        if whole:
            return dataclasses.replace(joined([run for (run,) in runs]), settings=settings, origin=origin)
        gathered = [gather(each) for each in runs]
        figures = {name: np.concatenate([each[name] for each in gathered]) for name in gathered[0]}
        return Summary(figures, {**settings, "tail": last})
    cast = Cast.of(
        [(_task(given.rows(row)), pure(learner.rows(row), given.setting, row)) for row in range(varying)]
        if varying
        else [(_task(given), pure(learner, given.setting))]
    )
    player = _compiled if chosen == "jax" else _plain
    found = player(
        cast, batch, key_of(seed), rounds=rounds, loops=loops, first=rounds - last, whole=whole, size=size or Size()
    )
    if keep == "summary":
        return Summary(
            {name: np.asarray(value) for name, value in found.figures(last).items()}, {**settings, "tail": last}
        )
    return dataclasses.replace(_run(found, given, settings), origin=origin)


class OwnTask:
    """A task in pure form, with the parts of a :class:`fairgate.Task` that a simulation reads."""

    replicates = None

    def __init__(self, task: Task) -> None:
        self.pure, self.problem, self.environment = task, task.setting.problem, task.environment
        self.setting = setting.Setting(self.problem, np.asarray(task.setting.grid), task.setting.groups)
        self.thresholds = self.setting.thresholds

    def describe(self) -> dict[str, Any]:
        """Return its parts as plain data."""
        parts = {"environment": described(self.environment), "problem": self.problem.describe()}
        return {"name": "custom", **parts, "grid": self.thresholds.tolist()}

    def rows(self, index: Index) -> OwnTask:
        """Return the same task, which is that of all loops."""
        return self


def _is_pure(task: tasks.Task | OwnTask) -> bool:
    """Return whether a task has a pure form."""
    return isinstance(task, OwnTask) or environments.is_pure(task.environment)


def _delay(task: tasks.Task | OwnTask) -> LabelDelay | None:
    """Return the delay of labels, None if all arrive at once."""
    return task.pure.delay if isinstance(task, OwnTask) else LabelDelay.of(task.environment)


def _task(task: tasks.Task | OwnTask) -> Task:
    """Return a task in pure form."""
    if isinstance(task, OwnTask):
        return task.pure
    own = Setting(task.problem, task.thresholds, task.setting.groups)
    return Task(environments.pure(task.environment), own, _delay(task))


def _pure_learner(learner: Any, task: tasks.Task | OwnTask) -> Any:
    """Return the pure form of a learner, or None if it lacks one that handles the late labels of the task."""
    if not is_pure(learner):
        return None
    found = pure(learner, task.setting)
    if _delay(task) is None or getattr(found, "learns_late", False):
        return found
    if isinstance(learner, OneLoop):
        raise InputError(f"learner {learner!r} must have learns_late = True to learn from labels that arrive late")
    return None


def _hosted(
    task: tasks.Task | OwnTask, learner: Any, key: Array, batch: int, library: str, block: slice
) -> tuple[PurePeople | ArrayPeople, PureLearner | ArrayLearner, Problem]:
    """Return environment and learner of a block of loops, where one or both are in plain Python."""
    varying = task.replicates is not None or getattr(learner, "replicates", None) is not None
    late = _delay(task)
    if varying and late is not None:
        raise InputError(
            f"library must be left out where settings vary by replicate and labels are late, for {learner!r}"
        )
    if varying:
        task, learner = task.rows(block), rows_of(learner, block)
    whole = _task(task) if _is_pure(task) and not varying else None
    own = None if varying else _pure_learner(learner, task)
    told = Setting(task.problem, task.thresholds, task.setting.groups)
    numbers = np.arange(block.start, block.stop, dtype=np.uint32)
    stage = Stage(told, late, learner.level, batch, key, numbers, library)
    mind, nature = (np.random.default_rng([*key.tolist(), block.start, purpose]) for purpose in (1, 2))
    people = ArrayPeople(stage, task.environment, nature) if whole is None else PurePeople(stage, whole.environment)
    player = ArrayLearner(stage, learner, task.setting, mind) if own is None else PureLearner(stage, own)
    return people, player, task.problem


@record
class Totals:
    """Sums of a loop: violations over all rounds, other figures over the final window."""

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
        """Return sums of 0."""
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
        """Return the figures of :meth:`fairgate.Run.per_replicate`; `rounds` is the length of the final window."""
        found = {each.name: np.asarray(getattr(self, each.name)) for each in dataclasses.fields(self)}
        return {name: value if "violation" in name else value / rounds for name, value in found.items()}


class Played(NamedTuple):
    """Record of every round, (loops, rounds, …) each."""

    thresholds: Array
    weights: Array
    counts: Array
    probabilities: Array
    traces: dict[str, Array]

    @classmethod
    def of(cls, happened: Round, traces: dict[str, Array]) -> Played:
        """Return the record of a round."""
        policy = happened.played
        return cls(policy.thresholds, policy.weights, happened.counts, happened.probabilities, traces)


def _body(task: Task, learner: Any, batch: int, draws: Draws, state: State) -> tuple[State, Round, dict[str, Array]]:
    traces = learner.traces(state.memory) if hasattr(learner, "traces") else {}
    state, happened = play(task, learner, batch, draws, state)
    return state, happened, traces


def _plain(cast: Cast, batch: int, key: Array, *, rounds: int, loops: int, first: int, whole: bool, size: Size) -> Any:
    """Play loop by loop in NumPy."""
    kept: list[Any] = []
    for loop in range(loops):
        task, learner = cast.at(loop)
        first_draws = Draws(key, np.array([loop], dtype=np.uint32), np.zeros(1, dtype=np.uint32))
        state, totals, steps = begin(task, learner, first_draws), Totals.none(np), []
        for number in range(rounds):
            draws = dataclasses.replace(first_draws, round=np.array([number], dtype=np.uint32))
            state, happened, traces = _body(task, learner, batch, draws, state)
            if whole:
                steps.append(Played.of(happened, traces))
            else:
                totals = totals.add(task.setting.problem, happened, np.float64(number >= first))
        kept.append((_stacked(steps), _final(task, learner, state)) if whole else totals)
    if not whole:
        return _stacked(kept)
    played, finals = zip(*kept, strict=True)
    return _stacked(list(played)), None if finals[0] is None else piled(finals)


def _final(task: Task, learner: Any, state: State) -> Any:
    """Return the policy that a learner recommends, if any."""
    return learner.recommend(task.setting, state.memory) if hasattr(learner, "recommend") else None


def _stacked(each: list[Any]) -> Any:
    """Stack the arrays of records with the same fields along a new first axis."""
    one = each[0]
    if isinstance(one, dict):
        return {name: _stacked([every[name] for every in each]) for name in one}
    if isinstance(one, Played):
        return Played(*(_stacked([every[place] for every in each]) for place in range(len(one))))
    if isinstance(one, Totals):
        return Totals(*(_stacked([getattr(every, part.name) for every in each]) for part in dataclasses.fields(one)))
    return np.stack(each)


def _compiled(
    cast: Cast, batch: int, key: Array, *, rounds: int, loops: int, first: int, whole: bool, size: Size
) -> Any:
    """Play blocks of loops, compiled once for all blocks; the extra loops that fill the last block are dropped."""
    import jax

    leaves = cast.leaves()
    place = jax.devices(size.device)[0]
    together = min(loops, size.together or (MANY if place.platform == "gpu" else TOGETHER))
    given: Any = {"rounds": rounds} if whole else {"rounds": np.uint32(rounds), "first": np.uint32(first)}
    play_block = _rounds() if whole else _totals()

    def block(start: int) -> Any:
        numbers = np.arange(start, start + together, dtype=np.uint32)
        with jax.enable_x64(size.bits == 64), jax.default_device(place):  # for this thread only
            found = play_block(leaves.of(numbers), batch, key, numbers, axes=leaves.axes, tree=leaves.tree, **given)
            return jax.tree.map(lambda values: np.asarray(values)[: loops - start], found)

    with ThreadPoolExecutor(size.workers) as pool:  # compiled code releases Python's lock
        blocks = list(pool.map(block, range(0, loops, together)))
    return blocks[0] if len(blocks) == 1 else jax.tree.map(lambda *parts: np.concatenate(parts), *blocks)


def _over_loops(
    one: Callable[..., Any], leaves: list[Array], axes: Sequence[int | None], tree: Any, numbers: Array
) -> Any:
    """Call a function of task, learner and loop number for all loops."""
    import jax

    def alone(own: list[Array], loop: Array) -> Any:
        task, learner = jax.tree.unflatten(tree, own)
        return one(task, learner, loop)

    return jax.vmap(alone, in_axes=(list(axes), 0))([jax.numpy.asarray(each) for each in leaves], numbers)


@functools.cache
def _rounds() -> Callable[..., Any]:
    """Return the compiled function that keeps every round of a block of loops."""
    import jax
    import jax.numpy as jnp

    @functools.partial(jax.jit, static_argnames=("batch", "rounds", "axes", "tree"))
    def run(leaves: Any, batch: int, key: Array, numbers: Array, *, axes: Any, tree: Any, rounds: int) -> Any:
        def one(task: Task, learner: Any, loop: Array) -> Any:
            def step(state: State, number: Array) -> Any:
                state, happened, traces = _body(task, learner, batch, Draws(key, loop[None], number[None]), state)
                return state, Played.of(happened, traces)

            start = begin(task, learner, Draws(key, loop[None], jnp.zeros(1, dtype=jnp.uint32)))
            state, played = jax.lax.scan(step, start, jnp.arange(rounds, dtype=jnp.uint32))
            return played, _final(task, learner, state)

        return _over_loops(one, leaves, axes, tree, numbers)

    return run


@functools.cache
def _totals() -> Callable[..., Any]:
    """Return the compiled function that sums the rounds of a block of loops, for any number of rounds."""
    import jax
    import jax.numpy as jnp

    @functools.partial(jax.jit, static_argnames=("batch", "axes", "tree"))
    def run(
        leaves: Any, batch: int, key: Array, numbers: Array, *, axes: Any, tree: Any, rounds: Array, first: Array
    ) -> Any:
        def one(task: Task, learner: Any, loop: Array) -> Any:
            def step(number: Array, carried: Any) -> Any:
                state, totals = carried
                state, happened = play(task, learner, batch, Draws(key, loop[None], number[None]), state)
                return state, totals.add(task.setting.problem, happened, (number >= first) * 1.0)

            start = begin(task, learner, Draws(key, loop[None], jnp.zeros(1, dtype=jnp.uint32))), Totals.none(jnp)
            return jax.lax.fori_loop(jnp.uint32(0), rounds, step, start)[1]

        return _over_loops(one, leaves, axes, tree, numbers)

    return run


def _run(found: tuple[Played, Any], task: tasks.Task | OwnTask, settings: dict[str, Any]) -> Run:
    """Return the rounds as a :class:`fairgate.Run`."""
    played, final = found
    check_policies(played, settings["learner"])
    groups = task.setting.groups
    true, batch = (task.problem.assess(np.swapaxes(cells, 0, 1)) for cells in (played.probabilities, played.counts))
    return Run(
        policies=arranged(played, groups),
        counts=played.counts.astype(np.int32),
        probabilities=played.probabilities,
        batch=_loops_first(batch),
        population=_loops_first(true),
        traces={name: np.asarray(values, dtype=np.float64) for name, values in played.traces.items()},
        names=task.problem.names,
        settings=settings,
        final=None if final is None else arranged(final, groups),
    )


def check_policies(played: Played, learner: Any) -> None:
    """Refuse policies that are none, and name the first round of one."""
    name = learner.get("kind", learner) if isinstance(learner, dict) else learner
    weights = played.weights
    for strange, wanted in (
        (np.isnan(played.thresholds).any(axis=(2, 3)), "thresholds that are numbers or ±inf, got nan"),
        (~((weights >= 0.0).all(axis=2) & (abs(weights.sum(axis=2) - 1.0) <= 1e-5)), "weights ≥ 0 that sum to 1"),
    ):
        if strange.any():
            loop, number = np.argwhere(strange)[0]
            raise InputError(f"the policies of {name} must have {wanted}, in loop {loop} and round {number}")


def arranged(pure: Any, groups: int) -> Policy:
    """Return thresholds (…, options, groups or 1) and weights (…, options) as a :class:`fairgate.Policy`."""
    thresholds = np.broadcast_to(pure.thresholds, (*pure.thresholds.shape[:-1], groups))
    return Policy(np.moveaxis(thresholds, -2, 0), np.moveaxis(pure.weights, -1, 0))


def _loops_first(found: Assessment) -> Assessment:
    return Assessment(found.reward.T, np.swapaxes(found.residuals, 1, 2))
