"""Draw who wins under stress over thousands of settings, and print the figures, for docs/reproduction.md.

    python -m scripts.draw_stress              # 1014 settings of each task; about ten minutes on two cores
    python -m scripts.draw_stress --write      # the same, and put the tables there
    python -m scripts.draw_stress --quick      # a coarse grid and short loops, to see that it works

The paper's stress table changes false-positive cost, tolerance ε or feedback strength, one at a time, in nine settings.
Here all three are changed together. The winner is by the paper's rule: the learner of highest tail reward among those
whose tail residuals, averaged over seeds, are met; if there is none, that of smallest cumulative violation.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from fairgate.block import Block
from fairgate.engines import open_engine
from fairgate.experiments.plan import STRESS, Plan, varied_task
from fairgate.experiments.tables import winner
from fairgate.learners import load_learner
from fairgate.plots import FONT, add_legend, panels, plot_phase
from fairgate.problem import is_feasible, violation
from fairgate.settings import Array
from fairgate.summary import lengths_of
from fairgate.tail import tail_of
from fairgate.thresholds import exact_sweep
from scripts.passages import rewrite

FIGURE = Path(__file__).resolve().parents[1] / "docs" / "figures" / "stress.png"
TASKS = ("mve-s", "german", "compas")
LEARNERS = ("ofs", "primal-dual", "unconstrained", "smooth-optimist")
PAPER = 3
"""The first learners are the paper's."""
FACTORS = np.geomspace(0.25, 4.0, 13)
FEEDBACK = [0.0, 0.25, 0.5, 0.75, 1.0, 1.1]
SHOWN = [0.0, 0.5, 1.0, 1.1]
"""Feedback strengths that are drawn."""
STACK = 1000
"""Loops side by side."""
RESAMPLES, SURE = 400, 0.95


class Winners(NamedTuple):
    """Best learner of each setting (S,), and how often another one would be, in seeds drawn again."""

    learner: NDArray[np.int64]
    margin: Array
    p_value: Array
    tied: NDArray[np.bool_]


@dataclass(frozen=True)
class Stress:
    """A task under stress: S settings × L learners × R seeds, as phase maps want it.

    Attributes
    ----------
    lines
        Of each learner, every figure of its loops, (S, R).
    kind
        ``"batch"``, as in the paper, or ``"population"``.
    """

    task: str
    design: Mapping[str, Array]
    learners: tuple[str, ...]
    lines: Sequence[Mapping[str, Array]]
    truth: Mapping[str, NDArray[Any]]
    kind: str = "batch"

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the factors."""
        return tuple(self.design)

    @cached_property
    def figures(self) -> dict[str, Array]:
        """Every figure, (S, L, R)."""
        return {name: np.stack([each[name] for each in self.lines], axis=1) for name in self.lines[0]}

    def mean(self, figure: str) -> Array:
        """Return the mean over seeds, (S, L)."""
        return np.asarray(self.figures[figure].mean(axis=2))

    @cached_property
    def won(self) -> Winners:
        """The winners, and the share of samples of the seeds, drawn with replacement, in which another one wins."""
        best, rng = self._best(slice(None)), np.random.default_rng(0)
        seeds = next(iter(self.lines[0].values())).shape[1]
        others = [self._best(rng.integers(seeds, size=seeds)) != best for _ in range(RESAMPLES)]
        return Winners(best, np.full(len(best), np.nan), np.mean(others, axis=0), np.zeros(len(best), dtype=bool))

    def winners(self, figure: str = "shortfall") -> Winners:
        """Return the winners by the paper's rule, whatever the figure."""
        return self.won

    def _best(self, seeds: Any) -> NDArray[np.int64]:
        means = [{name: values[:, seeds].mean(axis=1) for name, values in each.items()} for each in self.lines]
        return winner(means, self.kind)


def settings(factors: Array, feedback: Sequence[float]) -> dict[str, Array]:
    """Return all combinations of factors on cost, tolerance and feedback."""
    combined = np.array(list(product(factors, factors, feedback)))
    return dict(zip(("cost", "tolerance", "feedback"), combined.T, strict=True))


def lines_of(name: str, method: str, design: Mapping[str, Array], rounds: int, seeds: int) -> dict[str, Array]:
    """Simulate settings side by side and return what the winner is judged by, (S, R) each."""
    plan = Plan()
    count = len(design["cost"])
    factors = {each: np.repeat(values, seeds) for each, values in design.items()}
    task = varied_task(plan.task(name), **factors)
    learner = plan.learner(method, name) if method in LEARNERS[:PAPER] else load_learner(method)
    block = Block(task, learner, count * seeds, rounds, 256, plan.seed, "common", parts=count)
    spent: dict[str, Any] = {"violation": 0.0, "population_violation": 0.0}
    for piece in block.pieces(lengths_of(rounds, tail_of(rounds))):
        for each, assessment in zip(spent, (piece.batch, piece.population), strict=True):
            spent[each] = spent[each] + violation(assessment.residuals).sum(axis=1)
    found = {**piece.per_replicate(piece.rounds), **spent}
    for kind, assessment in (("batch", piece.batch), ("population", piece.population)):
        for number, residual in enumerate(assessment.residuals):
            found[f"{kind}_residual_{number}"] = residual.mean(axis=1)
    return {each: values.reshape(count, seeds) for each, values in found.items()}


def attainable(name: str, design: Mapping[str, Array]) -> NDArray[np.bool_]:
    """Whether some threshold of the grid is feasible in each setting, (S,)."""
    task = Plan().task(name)
    rows = zip(*design.values(), strict=True)
    changed = (varied_task(task, *(float(each) for each in row)) for row in rows)
    return np.array([is_feasible(exact_sweep(each, each.thresholds).residuals).any() for each in changed])


def stressed(names: Sequence[str], design: Mapping[str, Array], rounds: int, seeds: int, workers: int) -> list[Stress]:
    """Simulate all settings of some tasks."""
    most = max(1, STACK // seeds)
    pieces = [slice(low, low + most) for low in range(0, len(design["cost"]), most)]
    places = list(product(names, LEARNERS, pieces))
    calls = [
        partial(lines_of, name, method, {each: values[part] for each, values in design.items()}, rounds, seeds)
        for name, method, part in places
    ]
    found: dict[int, dict[str, Array]] = {}
    with open_engine(workers) as engine:
        for place, lines in engine.run(calls):
            found[place] = lines
            print(f"\r{len(found)} of {len(calls)} blocks", end="", flush=True)
    print()
    whole = []
    for name in names:
        lines = []
        for method in LEARNERS:
            parts = [found[place] for place, (one, other, _) in enumerate(places) if (one, other) == (name, method)]
            lines.append({each: np.concatenate([part[each] for part in parts]) for each in parts[0]})
        whole.append(Stress(name, design, LEARNERS, lines, {"attainable": attainable(name, design)}))
    return whole


def cut(whole: Stress, count: int, kind: str) -> Stress:
    """Return the same for the first learners, judged by batches or by the population."""
    return Stress(whole.task, whole.design, whole.learners[:count], whole.lines[:count], whole.truth, kind)


def draw(found: Sequence[Stress], shown: Sequence[float], path: Path) -> None:
    """Draw who wins, a row per task and a column per feedback strength."""
    figure, axes = panels(len(found), len(shown), 7.16, 0.9 + 1.75 * len(found))
    for number, ax in enumerate(axes):
        row, column = divmod(number, len(shown))
        stress, strength = found[row], shown[column]
        plot_phase(stress, "cost", "tolerance", "winner", ax=ax, at={"feedback": strength}, legend=False)
        for name, factors in STRESS.items():
            for factor in factors:
                here = {"cost": 1.0, "tolerance": 1.0, "feedback": 1.0, name: factor}
                if here["feedback"] == strength:
                    ax.plot(here["cost"], here["tolerance"], "o", color="white", markeredgecolor="black", markersize=3)
        ax.set_title(f"{stress.task}, feedback × {strength:g}", fontsize=FONT)
        ax.set_xlabel("cost of a false positive, ×" if row == len(found) - 1 else "", fontsize=FONT)
        ax.set_ylabel("tolerance ε, ×" if column == 0 else "", fontsize=FONT)
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            if label.startswith("paler"):
                handle.set_label(f"paler: another in over {1 - SURE:.0%} of samples of the seeds")
    add_legend(figure, axes[::-1], columns=3)
    with io.BytesIO() as drawn:
        figure.savefig(drawn, dpi=200)
        Image.open(drawn).convert("RGB").quantize(256, Image.Quantize.FASTOCTREE).save(path, optimize=True)


def percent(these: NDArray[np.bool_]) -> str:
    """Write a share of settings."""
    return f"{100 * these.mean():.0f}%" if these.size else "–"


def report(found: Sequence[Stress]) -> list[str]:
    """Return the tables: who wins how often, and where OFS does."""
    lines = [
        "| task | judged by | settings | something feasible | OFS | of them sure | " + " | ".join(LEARNERS[1:PAPER])
    ]
    lines[0] += " | OFS with " + LEARNERS[-1] + " among them |"
    lines.append("|---|---|---:|---:|---:|---:|" + "---:|" * PAPER)
    for whole in found:
        for kind in ("batch", "population"):
            three = cut(whole, PAPER, kind).won
            all_of_them = cut(whole, len(LEARNERS), kind).won.learner
            wins = [three.learner == place for place in range(PAPER)]
            sure = three.p_value[wins[0]] <= 1.0 - SURE
            cells = [whole.task, kind, f"{len(three.learner):,}", percent(np.asarray(whole.truth["attainable"]))]
            cells += [percent(wins[0]), percent(sure), *(percent(each) for each in wins[1:]), percent(all_of_them == 0)]
            lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "OFS among the paper's three, by batches, at each tolerance (rows) and feedback (columns):", ""]
    for whole in found:
        best, design = cut(whole, PAPER, "batch").won.learner, whole.design
        strengths = np.unique(design["feedback"])
        lines.append(f"| {whole.task} | " + " | ".join(f"feedback × {each:g}" for each in strengths) + " |")
        lines.append("|---|" + "---:|" * len(strengths))
        for factor in np.unique(design["tolerance"]):
            at = [best[(design["tolerance"] == factor) & (design["feedback"] == each)] == 0 for each in strengths]
            lines.append(f"| ε × {factor:.3g} | " + " | ".join(percent(each) for each in at) + " |")
        lines.append("")
    return lines


def main() -> None:
    """Simulate, draw and print."""
    parser = argparse.ArgumentParser(description="Draw who wins under stress, over thousands of settings.")
    parser.add_argument("--quick", action="store_true", help="a coarse grid and short loops")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth cost and tolerance")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path, default=FIGURE)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/reproduction.md")
    given = parser.parse_args()
    factors, feedback, shown, rounds = FACTORS[:: given.every], FEEDBACK, SHOWN, 3000
    if given.quick:
        factors, feedback, shown, rounds = FACTORS[::3], [0.0, 1.0], [0.0, 1.0], 200
    found = stressed(TASKS, settings(factors, feedback), rounds, given.seeds, given.workers)
    lines = report(found)
    print("\n".join(lines))
    if given.write:
        rewrite("reproduction.md", "stress", lines)
    draw([cut(each, PAPER, "batch") for each in found], shown, given.out)


if __name__ == "__main__":
    main()
