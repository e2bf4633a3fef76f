"""Run: what happened in a simulation, its summary, and its file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from reprlib import repr as brief
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.against import Against, Reference, State, check_same_task, check_state, compare
from fairgate.counts import Counts
from fairgate.errors import InputError, unknown_name
from fairgate.estimates import Estimate
from fairgate.frames import Backend, frame_of, round_keys
from fairgate.learners import Learner
from fairgate.origin import Kept, Origin
from fairgate.policy import Policy
from fairgate.problem import Assessment, is_feasible, violation
from fairgate.reading import told
from fairgate.settings import Array
from fairgate.store import read_saved, table_bytes, write_bytes
from fairgate.tail import tail_of
from fairgate.tasks import Task

SIZE = ("rounds", "seeds", "seed", "batch", "coupling", "parts", "library")
"""Settings of a run that say how much was simulated."""

FORMAT = 3
"""Version of the file a run is saved as; a reader refuses any other."""


@dataclass(frozen=True, repr=False)
class Run:
    """What happened: arrays over replicates (R) × rounds (T).

    Attributes
    ----------
    policies
        Played, whole: thresholds (M, R, T, G) and weights (M, R, T).
    counts
        People by group × label × decision, (R, T, G, 2, 2).
    probabilities
        The same cells' exact probabilities given the state of the round, (R, T, G, 2, 2).
    batch, population
        Signals read off `counts` (what the learner saw, and what the paper reports) and off `probabilities` (the
        truth): `reward` (R, T) and `residuals` (J, R, T).
    traces
        What the learner wished to be recorded, (R, T) each.
    names
        Names of the J residuals.
    settings
        Task, learner, rounds, seeds, seed and batch size, as plain data.
    final
        The policy the learner would keep for good, if it says so.
    states
        States of the environment before each batch, (R, T, …) per field, if they were recorded.
    origin
        What it was made of: see :meth:`task`, :meth:`rebuilt_learner` and `versions`.
    """

    policies: Policy
    counts: NDArray[np.int32]
    probabilities: Array
    batch: Assessment
    population: Assessment
    traces: Mapping[str, Array]
    names: tuple[str, ...]
    settings: Mapping[str, Any]
    final: Policy | None = None
    states: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    origin: Origin | Kept | None = None

    def __repr__(self) -> str:
        replicates, rounds, groups = self.policies.thresholds.shape[1:]
        return f"Run({self.settings['task']['name']}: {replicates} replicates × {rounds} rounds, {groups} groups)"

    @property
    def learner(self) -> str:
        """Name of the learner's class."""
        return str(self.settings["learner"]["kind"])

    @property
    def replicates(self) -> int:
        """Number of replicates."""
        return len(self.counts)

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return int(self.counts.shape[1])

    @cached_property
    def thresholds(self) -> Array:
        """The threshold that each group was held to, (R, T, G); NaN where people were accepted by lottery."""
        return self.played().single.reshape(self.replicates, self.rounds, -1)

    @cached_property
    def has_lotteries(self) -> bool:
        """Whether people were accepted by lottery in any round."""
        return bool(self.played().is_lottery.any())

    def played(self, part: slice = slice(None)) -> Policy:
        """Return the policies of some rounds as one policy of as many replicates: replicate by replicate."""
        thresholds, weights = self.policies.thresholds[:, :, part], self.policies.weights[:, :, part]
        return Policy(thresholds.reshape(len(thresholds), -1, thresholds.shape[-1]), weights.reshape(len(weights), -1))

    def rows(self, index: slice) -> Run:
        """Return some of the replicates, as if only they had been simulated.

        >>> import fairgate as fg
        >>> run = fg.simulate(fg.load_task("mve-s"), fg.OFS(), rounds=50, seeds=5)
        >>> run.rows(slice(2))
        Run(mve-s: 2 replicates × 50 rounds, 2 groups)
        """

        def cut(found: Assessment) -> Assessment:
            return Assessment(found.reward[index], found.residuals[:, index])

        counts = self.counts[index]
        return replace(
            self,
            policies=Policy(self.policies.thresholds[:, index], self.policies.weights[:, index]),
            counts=counts,
            probabilities=self.probabilities[index],
            batch=cut(self.batch),
            population=cut(self.population),
            traces={name: values[index] for name, values in self.traces.items()},
            settings={**self.settings, "seeds": len(counts)},
            final=Policy(self.final.thresholds[:, index], self.final.weights[:, index]) if self.final else None,
            states={name: values[index] for name, values in self.states.items()},
            origin=self.origin.rows(index) if self.origin else None,
        )

    def part(self, index: slice) -> Run:
        """Return some of the rounds; what the learner would keep for good is known as before.

        >>> import fairgate as fg
        >>> run = fg.simulate(fg.load_task("mve-s"), fg.OFS(), rounds=50, seeds=5)
        >>> run.part(slice(40, 50))
        Run(mve-s: 5 replicates × 10 rounds, 2 groups)
        """

        def cut(found: Assessment) -> Assessment:
            return Assessment(found.reward[:, index], found.residuals[:, :, index])

        return replace(
            self,
            policies=Policy(self.policies.thresholds[:, :, index], self.policies.weights[:, :, index]),
            counts=self.counts[:, index],
            probabilities=self.probabilities[:, index],
            batch=cut(self.batch),
            population=cut(self.population),
            traces={name: values[:, index] for name, values in self.traces.items()},
            states={name: values[:, index] for name, values in self.states.items()},
        )

    def task(self, *own: type) -> Task:
        """Return the task it was simulated on, also of a run that was read from a file: all of it is kept there.

        Simulated again with the same versions, task and learner give the same numbers, bit by bit. Of a file, only
        classes of fairgate are made: pass those of your `own` that are part of the task.

        Examples
        --------
        >>> import fairgate as fg
        >>> run = fg.simulate(fg.load_task("compas"), fg.OFS(), rounds=20, seeds=2)
        >>> again = fg.simulate(run.task(), run.rebuilt_learner(), **run.size)
        >>> bool((again.batch.reward == run.batch.reward).all())
        True
        """
        task: Task = self._origin.made("task", own)
        return task

    def rebuilt_learner(self, *own: type) -> Learner[Any]:
        """Return the learner it was simulated with, before it learned anything; see :meth:`task`."""
        learner: Learner[Any] = self._origin.made("learner", own)
        return learner

    @property
    def size(self) -> dict[str, Any]:
        """Rounds, seeds, seed, batch, coupling, parts and library, as :func:`~fairgate.simulate` takes them."""
        return {name: self.settings[name] for name in SIZE if name in self.settings}

    @property
    def versions(self) -> dict[str, str]:
        """Versions of Python, fairgate and the libraries that made it, and a digest of the code that ran."""
        return self._origin.versions

    @property
    def _origin(self) -> Origin | Kept:
        if self.origin is None:
            raise InputError(f"{self!r} was not simulated in one piece, so it does not know what it was made of")
        return self.origin

    @cached_property
    def batch_gap(self) -> Array:
        """Gap between the groups' acceptance rates in each batch, (R, T): biased up by sampling noise."""
        return Counts(self.counts).gap

    @cached_property
    def population_gap(self) -> Array:
        """Exact gap between the groups' acceptance rates, (R, T)."""
        return Counts(self.probabilities).gap

    def settled(self, tail: int | None = None) -> Policy:
        """Return the policy each replicate settled on: what the learner recommends, else its median threshold.

        The median is over the last `tail` rounds, or as many as there are; by default over the tail of
        :meth:`per_replicate`. Where one of them was a lottery, it is the policy of the last round.
        """
        if self.final is not None:
            return self.final
        last = self.thresholds[:, -tail_of(self.rounds, tail) :]
        if not np.isnan(last).any():
            return Policy.of(np.median(last, axis=1))
        return Policy(self.policies.thresholds[:, :, -1], self.policies.weights[:, :, -1])

    def per_replicate(self, tail: int | None = None) -> dict[str, Array]:
        """Return each summary figure for every replicate, (R,).

        Tail means over the last `tail` rounds, by default 200 or the last fifth of a shorter run, except the
        violations, which are summed over all rounds: V_T = Σ_t Σ_j max(g_jt, 0). `feasible` is the share of tail rounds
        in which the population meets every constraint.
        """
        tail = tail_of(self.rounds, tail)
        if tail > self.rounds:
            raise InputError(f"tail is the last {tail} rounds, but the run has {self.rounds}: choose a shorter tail")
        last = slice(self.rounds - tail, None)
        return {
            "reward": self.batch.reward[:, last].mean(axis=1),
            "gap": self.batch_gap[:, last].mean(axis=1),
            "violation": violation(self.batch.residuals).sum(axis=1),
            "population_reward": self.population.reward[:, last].mean(axis=1),
            "population_gap": self.population_gap[:, last].mean(axis=1),
            "population_violation": violation(self.population.residuals).sum(axis=1),
            "acceptance": Counts(self.probabilities[:, last]).overall.mean(axis=1),
            "feasible": is_feasible(self.population.residuals[..., last]).mean(axis=1),
        }

    def summary(self, tail: int | None = None) -> dict[str, Estimate]:
        """Return mean ± sd over replicates of every figure of :meth:`per_replicate`.

        >>> import fairgate as fg
        >>> run = fg.simulate(fg.load_task("mve-s"), fg.OFS(), rounds=300, seeds=5)
        >>> sorted(run.summary())[:4]
        ['acceptance', 'feasible', 'gap', 'population_gap']
        """
        return {name: Estimate.of(values) for name, values in self.per_replicate(tail).items()}

    def against(self, oracle: Reference, *, state: State = "steady", first: int = 0) -> Against:
        """Compare what was played in each round with the best that is feasible, exactly.

        Parameters
        ----------
        oracle
            What :func:`fairgate.oracle` found for the run's task; for a task that changes by itself, what
            :func:`fairgate.truth_of` did.
        state
            ``"steady"``: thresholds are judged by the steady state they would lead to if kept, whatever state the
            population was in; a run with lotteries in any round, by the population in the state it was in. ``"actual"``
            judges every run so.
        first
            Round that the run's first one is of the whole, if this is a piece of a longer run.

        Examples
        --------
        >>> import fairgate as fg
        >>> task = fg.load_task("mve-s")
        >>> run = fg.simulate(task, fg.OFS(), rounds=1000, seeds=5)
        >>> found = run.against(fg.oracle(task))
        >>> found.regret.shape, found
        ((5, 1000), Against(OFS on mve-s: 5 replicates × 1000 rounds))
        >>> found.success[:, -1].mean()
        np.float64(1.0)
        """
        name = self.settings["task"]["name"]
        check_same_task(oracle, name)
        check_state(state, oracle)
        actual = state == "actual" or self.has_lotteries
        found = self.population if actual else oracle.played(self.thresholds, first)
        return replace(
            compare(found, *oracle.targets(first, self.rounds)), task=name, learner=self.learner, first=first
        )

    def frame(
        self,
        by: str = "round",
        backend: Backend = "pandas",
        oracle: Reference | None = None,
        state: State = "steady",
    ) -> Any:
        """Return the run as a tidy table, one row per observation.

        With `by` ``"round"``, a row per replicate and round: reward, gap, acceptance and violation of the batch and of
        the population, whether the population is feasible, every residual, and the learner's traces. With ``"group"``,
        a row per replicate, round and group: its threshold, people, positives, how many of either were accepted, and
        the group's acceptance rate in the batch and in the population. With an `oracle`, rows by round have regret,
        cumulative_regret, excess, shortfall and success as well, as :meth:`against` finds them in the `state` asked
        for.

        Examples
        --------
        >>> import fairgate as fg
        >>> run = fg.simulate(fg.load_task("compas"), fg.OFS(), rounds=100, seeds=3)
        >>> tidy = run.frame()
        >>> tidy.shape, tidy.query("round > 80").groupby("replicate")["reward"].mean().shape
        ((300, 17), (3,))
        >>> run.frame(by="group", backend="polars").columns[4:8]
        ['group', 'threshold', 'people', 'accepted']
        """
        if by not in ("round", "group"):
            raise unknown_name("by", by, ("round", "group"))
        check_state(state, oracle)
        if by == "group":
            if oracle is not None:
                raise InputError("oracle judges whole rounds, so by must be 'round', got 'group'")
            return frame_of(self._by_group(), backend)
        judged = {} if oracle is None else self.against(oracle, state=state).columns
        return frame_of(self._by_round() | judged, backend)

    def _keys(self) -> dict[str, NDArray[Any]]:
        return round_keys(self.settings["task"]["name"], self.learner, self.counts.shape[:2])

    def _by_round(self) -> dict[str, NDArray[Any]]:
        found = self._keys()
        for kind, cells, assessment in (
            ("", self.counts, self.batch),
            ("population_", self.probabilities, self.population),
        ):
            counts = Counts(cells)
            found |= {f"{kind}reward": assessment.reward, f"{kind}gap": counts.gap, f"{kind}acceptance": counts.overall}
            found[f"{kind}violation"] = violation(assessment.residuals)
        found["feasible"] = is_feasible(self.population.residuals)
        found |= {f"population_{name}": each for name, each in zip(self.names, self.population.residuals, strict=True)}
        return found | {f"trace_{name}": values for name, values in self.traces.items()}

    def _by_group(self) -> dict[str, NDArray[Any]]:
        keys = {name: np.repeat(values, self.counts.shape[2]) for name, values in self._keys().items()}
        return keys | {
            "group": np.indices(self.counts.shape[:3])[2],
            "threshold": self.thresholds,
            "people": self.counts.sum(axis=(3, 4)),
            "accepted": self.counts[..., 1].sum(axis=3),
            "positives": self.counts[..., 1, :].sum(axis=3),
            "accepted_positives": self.counts[..., 1, 1],
            "acceptance": Counts(self.counts).rates,
            "population_acceptance": Counts(self.probabilities).rates,
        }

    def save(self, path: str | Path) -> Path:
        """Write the run as a Parquet file, one row per replicate and round.

        The file's metadata has its settings, the versions that made it, and everything of task and learner, arrays
        included, so that both can be made again (:meth:`task`).

        Written beside its place first and moved there whole, so that an interruption leaves no half a file.
        """
        write_bytes(Path(path), self.parquet())
        return Path(path)

    def parquet(self) -> bytes:
        """Return the contents of the file that :meth:`save` writes."""
        replicates, rounds, groups = self.counts.shape[:3]
        places = np.indices((replicates, rounds), dtype=np.int32)
        columns: dict[str, NDArray[Any]] = {"replicate": places[0].ravel(), "round": places[1].ravel() + 1}
        columns |= _spread("threshold", np.moveaxis(self.policies.thresholds, 0, 2))
        columns |= _spread("weight", np.moveaxis(self.policies.weights, 0, 2))
        columns |= _spread("count", self.counts, between="")
        columns |= _spread("probability", self.probabilities, between="")
        for kind, assessment in (("batch", self.batch), ("population", self.population)):
            columns |= _spread(f"{kind}_reward", assessment.reward)
            columns |= _spread(f"{kind}_residual", np.moveaxis(assessment.residuals, 0, 2))
        for kind, named in (("trace", self.traces), ("state", self.states)):
            for name, values in named.items():
                columns |= _spread(f"{kind}_{name}", values)
        shape = (replicates, rounds, groups, len(self.policies.weights))
        header = {"format": FORMAT, "names": self.names, "shape": shape, "settings": self.settings}
        if self.origin is not None:
            header["origin"] = self.origin.to_json()
        if self.final is not None:
            header["final"] = self.final.to_json()
        if self.states:
            header["states"] = {name: values.shape[2:] for name, values in self.states.items()}
        return table_bytes(columns, header)

    @classmethod
    def load(cls, path: str | Path) -> Run:
        """Read a run that :meth:`save` wrote."""
        columns, header = read_saved(Path(path), "run", FORMAT, needs="names")
        with told(f"{path} is no saved run"):
            return cls._loaded(columns, header)

    @classmethod
    def _loaded(cls, columns: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Run:
        """Return the run that columns and a header describe; a shape must be that of the columns there are."""
        replicates, rounds, groups, parts = header["shape"]
        if any(values.dtype.kind not in "biuf" for values in columns.values()):
            raise ValueError("its columns must be numbers")
        settings = header["settings"]
        if not isinstance(settings, dict) or not isinstance(header["names"], list):
            raise ValueError("its settings must be a table and its names a list")
        if not isinstance(settings["task"]["name"], str):
            raise ValueError("its task must have a name")

        def gathered(kind: str, shape: Sequence[int] = (), between: str = "_") -> NDArray[Any]:
            if not all(type(each) is int and each >= 0 for each in shape) or math.prod(shape) > len(columns):
                raise ValueError(f"it has too few columns for a {kind} of the shape {brief(shape)}")
            values = [columns[name] for name in _names(kind, shape, between)]
            return np.array(values).reshape(len(values), replicates * rounds).T.reshape(replicates, rounds, *shape)

        def first(values: NDArray[Any]) -> NDArray[Any]:
            return np.ascontiguousarray(np.moveaxis(values, 2, 0))

        def assessment(kind: str) -> Assessment:
            residuals = gathered(f"{kind}_residual", [len(header["names"])])
            return Assessment(gathered(f"{kind}_reward"), first(residuals))

        return cls(
            policies=Policy(first(gathered("threshold", (parts, groups))), first(gathered("weight", (parts,)))),
            counts=gathered("count", (groups, 2, 2), between=""),
            probabilities=gathered("probability", (groups, 2, 2), between=""),
            batch=assessment("batch"),
            population=assessment("population"),
            traces={name.removeprefix("trace_"): gathered(name) for name in columns if name.startswith("trace_")},
            names=tuple(header["names"]),
            settings=settings,
            final=Policy.from_json(header["final"]) if "final" in header else None,
            states={name: gathered(f"state_{name}", shape) for name, shape in header.get("states", {}).items()},
            origin=Kept(header["origin"]) if "origin" in header else None,
        )


def _names(kind: str, shape: Sequence[int], between: str = "_") -> list[str]:
    """Name a column for each place of an array of this shape."""
    return [f"{kind}_{between.join(map(str, index))}".removesuffix("_") for index in np.ndindex(*shape)]


def _spread(kind: str, values: NDArray[Any], between: str = "_") -> dict[str, NDArray[Any]]:
    """Return an array over replicates, rounds and anything else as columns."""
    flat = values.reshape(values.shape[0] * values.shape[1], -1)
    return dict(zip(_names(kind, values.shape[2:], between), flat.T, strict=True))
