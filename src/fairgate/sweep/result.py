"""Sweep: what learners came to over many settings, beside what was attainable, as arrays and as tidy tables."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from reprlib import repr as brief
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.amounts import amount
from fairgate.block import joined
from fairgate.errors import InputError, unknown_name
from fairgate.estimates import half_width, wilson
from fairgate.frames import Backend, frame_of
from fairgate.learners import Learner
from fairgate.reading import told
from fairgate.recipe import pack, unpack
from fairgate.run import Run
from fairgate.settings import Array
from fairgate.simulation import Size
from fairgate.statistics import holm, paired_t_test
from fairgate.store import plain, prepare_folder, read_saved, write_table, write_text
from fairgate.sweep.cells import Plan
from fairgate.sweep.figures import FIGURES, RANGES, TRUTH
from fairgate.sweep.parameters import Known
from fairgate.tail import tail_of
from fairgate.tasks import Task

FORMAT = 1
"""Version of the file a sweep is saved as; a reader refuses any other."""

DAMAGED = "what the sweep's file keeps is damaged"
"""Said of what is made again from a file."""

HIGHER = ("reward", "population_reward", "acceptance", "feasible", "success", "share")
"""Figures of which more is better; of the others less is."""

SIZE = ("rounds", "seeds", "seed", "batch")
"""What says how much is simulated of each cell."""

QUANTILES = {"q10": 0.1, "q50": 0.5, "q90": 0.9}
"""Quantiles over seeds that a table has."""


@dataclass(frozen=True)
class Failure:
    """A cell that came to nothing, and why; without a learner, the setting suits none."""

    setting: Mapping[str, Any]
    learner: str | None
    text: str

    def __str__(self) -> str:
        values = ", ".join(f"{name}={value:g}" for name, value in self.setting.items())
        return " ".join(filter(None, (self.learner, values and f"at {values}"))) + f": {self.text}"


class Winners(NamedTuple):
    """Which learner is best in each setting, (S,) each.

    Attributes
    ----------
    learner
        Place of the best among the learners; −1 where all failed, and where the best are tied.
    margin
        By how much its mean is better than the next learner's; NaN if there is no other.
    p_value
        Two-sided p-value of a paired t-test over seeds that the two are equal, by Holm's correction for all settings.
    tied
        Whether the two best have exactly the same mean.
    """

    learner: NDArray[np.int64]
    margin: Array
    p_value: Array
    tied: NDArray[np.bool_]


@dataclass(frozen=True, repr=False)
class Sweep:
    """What a sweep found: S settings × L learners × R seeds.

    Attributes
    ----------
    design
        Values of each parameter, (S,).
    learners
        Names.
    figures
        What each loop came to, (S, L, R) per name of :data:`~fairgate.sweep.figures.FIGURES`; NaN where it failed.
    truth
        What is known exactly of each setting, (S,) per name of :data:`~fairgate.sweep.figures.TRUTH`.
    failures
        Cells that came to nothing.
    settings
        Everything that made it, as plain data.
    plan
        What was asked for, with which :meth:`cell` makes task and learner of a cell; of a file, the recipe for it.
    runs
        Files of every round of each cell, by setting and learner, if they were asked for; see :meth:`run`.
    """

    design: Mapping[str, NDArray[Any]]
    learners: tuple[str, ...]
    figures: Mapping[str, Array]
    truth: Mapping[str, NDArray[Any]]
    failures: Sequence[Failure]
    settings: Mapping[str, Any]
    plan: Plan | Mapping[str, Any] = field(compare=False)
    runs: Mapping[tuple[int, str], Sequence[Path]] = field(default_factory=dict, compare=False)

    def __repr__(self) -> str:
        over = f" over {', '.join(self.parameters)}" if self.parameters else ""
        counts = zip(self.figures["reward"].shape, ("setting", "learner", "seed"), strict=True)
        return f"Sweep({self.task}{over}: {' × '.join(amount(number, noun) for number, noun in counts)})"

    @property
    def task(self) -> str:
        """Name of the task."""
        return str(self.settings["task"]["name"])

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of what is swept."""
        return tuple(self.design)

    def __len__(self) -> int:
        return len(self.figures["reward"])

    def setting(self, index: int) -> dict[str, Any]:
        """Return a setting's values by name."""
        return {name: column[index].item() for name, column in self.design.items()}

    def mean(self, figure: str) -> Array:
        """Return a figure's mean over seeds, (S, L)."""
        return np.asarray(self._figure(figure).mean(axis=2))

    def spread(self, figure: str) -> dict[str, Array]:
        """Return a figure's mean, sd, 95% interval of the mean (low, high) and quantiles over seeds, (S, L) each.

        The interval is Student's, or Wilson's for `success`, which is 0 or 1 for each seed. It ends where the figure's
        possible values do (:data:`~fairgate.sweep.figures.RANGES`), such as a share of rounds at 0 and 1.
        """
        values = self._figure(figure)
        seeds = values.shape[2]
        mean = values.mean(axis=2)
        sd = values.std(axis=2, ddof=1) if seeds > 1 else np.full(mean.shape, np.nan)
        reach = half_width(sd, seeds)
        low, high = mean - reach, mean + reach
        if figure == "success":
            low, high = (np.where(np.isnan(mean), np.nan, end) for end in wilson(np.nan_to_num(mean) * seeds, seeds))
        low, high = (np.clip(end, *RANGES.get(figure, (-np.inf, np.inf))) for end in (low, high))
        quantiles = np.quantile(values, list(QUANTILES.values()), axis=2)
        found = {"mean": mean, "sd": sd, "low": low, "high": high}
        return found | dict(zip(QUANTILES, quantiles, strict=True))

    def winners(self, figure: str = "shortfall") -> Winners:
        """Return which learner is best in each setting, by a figure's mean over seeds.

        The p-values are those of a t-test, which trusts the normal law: with fewer than about 10 seeds do not lean on
        them. All settings meet the same people, so many small p-values are not as many independent findings.

        >>> import fairgate as fg
        >>> found = fg.sweep("mve-s", ["ofs", "random"], over={"rate": [0.1, 0.5]}, seeds=5, rounds=100)
        >>> [found.learners[place] for place in found.winners().learner]
        ['ofs', 'ofs']
        """
        values = self._figure(figure) * (1.0 if figure in HIGHER else -1.0)
        mean = values.mean(axis=2)
        order = np.argsort(np.where(np.isnan(mean), np.inf, -mean), axis=1, kind="stable")  # of equals the first
        known = ~np.isnan(mean)
        best = np.where(known.any(axis=1), order[:, 0], -1)
        margin, p_value = np.full(len(mean), np.nan), np.ones(len(mean))
        if len(self.learners) > 1:
            rows = np.arange(len(mean))
            difference = values[rows, order[:, 0]] - values[rows, order[:, 1]]
            margin = difference.mean(axis=1)
            tested = ~np.isnan(margin) & (difference.shape[1] > 1)
            if tested.any():
                p_value[tested] = holm(paired_t_test(difference[tested]))
        tied = margin == 0.0
        return Winners(np.where(tied, -1, best).astype(np.int64), margin, p_value, tied)

    def frame(self, by: str = "cell", backend: Backend = "pandas") -> Any:
        """Return a tidy table.

        With `by` ``"cell"``, a row per setting and learner: the parameters, what is attainable, and of every figure
        mean, sd, the ends of a 95% interval of the mean, and quantiles over seeds, such as ``reward_mean``,
        ``reward_low`` and ``reward_q90``. With ``"seed"``, a row per loop.

        Examples
        --------
        >>> import fairgate as fg
        >>> found = fg.sweep("mve-s", ["ofs"], over={"epsilon": [0.02, 0.06]}, seeds=5, rounds=100)
        >>> found.frame()[["learner", "epsilon", "attainable"]].values.tolist()
        [['ofs', 0.02, True], ['ofs', 0.06, True]]
        >>> found.frame(by="seed", backend="polars").shape
        (10, 23)
        """
        return frame_of(self.columns(by), backend)

    def columns(self, by: str = "cell") -> dict[str, NDArray[Any]]:
        """Return the columns of :meth:`frame`."""
        if by not in ("cell", "seed"):
            raise unknown_name("by", by, ("cell", "seed"))
        shape = self.figures["reward"].shape[: 2 if by == "cell" else 3]

        def spread_out(values: NDArray[Any], axis: int) -> NDArray[Any]:
            placed = np.reshape(values, [-1 if each == axis else 1 for each in range(len(shape))])
            return np.broadcast_to(placed, shape).ravel()

        found: dict[str, NDArray[Any]] = {"task": spread_out(np.array([self.task]), 0)}
        found["learner"] = spread_out(np.array(self.learners), 1)
        found |= {name: spread_out(column, 0) for name, column in {**self.design, **self.truth}.items()}
        if np.isnan(self.truth["best_reward"]).any():  # what no learner got through is not known to be infeasible
            known = self.truth["attainable"].astype(object)
            known[np.isnan(self.truth["best_reward"])] = None
            found["attainable"] = spread_out(known, 0)
        if by == "seed":
            found["seed"] = spread_out(np.arange(shape[2]), 2)
            return found | {name: values.ravel() for name, values in self.figures.items()}
        for name in self.figures:
            found |= {f"{name}_{kind}": values.ravel() for kind, values in self.spread(name).items()}
        return found

    def cell(self, setting: int, learner: str, *own: type) -> tuple[Task, Learner[Any], dict[str, Any]]:
        """Return task, learner, and the rounds, seeds, seed and batch of a cell, for :func:`~fairgate.simulate`.

        Of a sweep that was read from a file, `own` are the classes in it that are none of fairgate's.

        >>> import fairgate as fg
        >>> found = fg.sweep("mve-s", ["ofs"], over={"epsilon": [0.02, 0.06]}, seeds=5, rounds=100)
        >>> task, learner, size = found.cell(1, "ofs")
        >>> again = fg.simulate(task, learner, **size, keep="summary")
        >>> bool((again.figures["reward"] == found.figures["reward"][1]).all())
        True
        """
        self._place(learner)
        return self._made(own).objects(setting, learner)

    def _made(self, own: Sequence[type]) -> Plan:
        """Return what was asked for, made again if it was read from a file."""
        if isinstance(self.plan, Plan):
            return self.plan
        with told(DAMAGED):
            task = Task.from_json(self.plan["task"], *own)
            known = Known(task, unpack({"mapping": self.plan["learners"]}, own))
            if any(not isinstance(known.learners.get(each), Learner) for each in self.learners):
                raise ValueError("it lacks a learner")
            size = Size(**{name: self.settings[name] for name in SIZE})
            return Plan(task, known.learners, size, self.design, known.find_all(self.design))

    def run(self, setting: int, learner: str) -> Run:
        """Read every round of a cell, if the sweep was told to keep them (``keep="run"``)."""
        self._place(learner)
        if (setting, learner) not in self.runs:
            raise InputError("this sweep kept no rounds: ask for it with keep='run', or simulate its cell() again")
        return joined([Run.load(path) for path in self.runs[setting, learner]])

    def command(self, setting: int, learner: str) -> str:
        """Return the command that runs a cell again; for one's own objects, the Python that does."""
        self._place(learner)
        with told(DAMAGED):
            return self._command(setting, learner)

    def _command(self, setting: int, learner: str) -> str:
        texts = self.settings["commands"]
        if not texts["task"] or not texts["learners"][learner]:
            return f"task, learner, size = sweep.cell({setting}, {learner!r}); fg.simulate(task, learner, **size)"
        size = {name: self.settings[name] for name in SIZE}
        given = []
        for name, value in self.setting(setting).items():
            for owner, short in self.settings["parameters"][name]:
                if owner == "loop":
                    size[short] = value
                elif owner not in self.learners:
                    given.append(f"{owner}.{short}={value!r}")
                elif owner == learner:
                    given.append(f"learner.{short}={value!r}")
        size["tail"] = tail_of(size["rounds"])
        words = ["fairgate", "run", texts["task"], texts["learners"][learner]]
        words += [word for each in given for word in ("--set", each)]
        return shlex.join(words + [word for name, value in size.items() for word in (f"--{name}", str(value))])

    def write(self, folder: str | Path) -> Path:
        """Write the page and the tables to a folder: what ``fairgate sweep --out`` has.

        These are ``sweep.html``, ``sweep.parquet`` with a row per cell, ``seeds.parquet`` with a row per loop, which
        :meth:`load` reads, and ``settings.json``.
        """
        from fairgate.sweep.page import render

        out = Path(folder)
        prepare_folder(out, "folder")
        self.save(out / "seeds.parquet")
        write_table(out / "sweep.parquet", self.columns(), self.settings)
        write_text(out / "settings.json", json.dumps(plain(self.settings), indent=1, ensure_ascii=False) + "\n")
        write_text(out / "sweep.html", render(self))
        return out

    def save(self, path: str | Path) -> Path:
        """Write the sweep as a Parquet file, one row per loop, with its settings in the file's metadata."""
        recipe = self.plan
        if isinstance(recipe, Plan):
            learners = {name: pack(each) for name, each in recipe.learners.items()}
            recipe = {"task": recipe.task.to_json(), "learners": learners}
        header = {
            "format": FORMAT,
            "shape": self.figures["reward"].shape,
            "learners": self.learners,
            "parameters": self.parameters,
            "failures": [asdict(each) for each in self.failures],
            "settings": self.settings,
            "plan": recipe,
        }
        write_table(Path(path), self.columns("seed"), header)
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> Sweep:
        """Read a sweep that :meth:`save` wrote."""
        columns, header = read_saved(Path(path), "sweep", FORMAT, needs="parameters")
        with told(f"{path} is no saved sweep"):
            return cls._loaded(columns, header)

    @classmethod
    def _loaded(cls, columns: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Sweep:
        shape = tuple(header["shape"])
        wanted = (len(columns["reward"]) // max(1, math.prod(shape[1:])), len(header["learners"]))
        named = all(isinstance(each, str) for each in header["learners"])
        if not named or shape[:2] != wanted or len(shape) != 3 or not isinstance(header["settings"], dict):
            raise ValueError(f"its learners or its rows are not those of the shape {brief(shape)}")
        by_setting = {name: columns[name].reshape(shape)[:, 0, 0].copy() for name in (*header["parameters"], *TRUTH)}
        by_setting["attainable"] = by_setting["attainable"] == True  # noqa: E712  # of a failed setting it is None
        return cls(
            design={name: by_setting[name] for name in header["parameters"]},
            learners=tuple(header["learners"]),
            figures={name: columns[name].reshape(shape) for name in FIGURES},
            truth={name: by_setting[name] for name in TRUTH},
            failures=tuple(Failure(**each) for each in header["failures"]),
            settings=header["settings"],
            plan=header["plan"],
        )

    def _figure(self, name: str) -> Array:
        if name not in self.figures:
            raise unknown_name("figure", name, self.figures)
        return self.figures[name]

    def _place(self, learner: str) -> int:
        if learner not in self.learners:
            raise unknown_name("learner", learner, self.learners)
        return self.learners.index(learner)
