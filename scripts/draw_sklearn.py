"""Compare ways to choose a threshold on held-out people, for docs/sklearn.md.

    python scripts/draw_sklearn.py      # write docs/figures/sklearn.png, print the table; takes some minutes

Every method gets the same score model, the same people to learn from and the same people to be judged on, in each of
many random halvings of German Credit and COMPAS.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from fairlearn.postprocessing import ThresholdOptimizer
from matplotlib.ticker import MaxNLocator, MultipleLocator
from numpy.typing import NDArray
from PIL import Image
from sklearn.metrics import make_scorer
from sklearn.model_selection import StratifiedShuffleSplit, TunedThresholdClassifierCV

import fairgate as fg
from fairgate.data import features, load_dataset, score_model
from fairgate.plots import COLOURS, FONT, SHADE, add_legend, panels
from fairgate.settings import Array
from fairgate.sklearn import FairThresholdClassifier

FIGURE = Path(__file__).resolve().parents[1] / "docs" / "figures" / "sklearn.png"
SPLITS = 50
EPSILON = 0.05
COST = 1.0
MARGIN = 0.03
SHAPES = ("s", "^", "D", "v", "p", "o")
TASKS = {"german": "German Credit, sex", "compas": "COMPAS, sex"}


class People(NamedTuple):
    """Rows of a dataset."""

    features: NDArray[np.object_]
    labels: NDArray[np.int64]
    groups: NDArray[np.int64]

    def rows(self, index: NDArray[np.int64]) -> People:
        """Return these rows only."""
        return People(self.features[index], self.labels[index], self.groups[index])


def reward(labels: NDArray[Any], decisions: Array) -> float:
    """Return what accepting earned, per person."""
    return float(np.mean(decisions * (labels - COST * (1 - labels))))


def tuned(train: People, test: People) -> Array:
    """Highest reward, with scikit-learn."""
    model = TunedThresholdClassifierCV(score_model(), scoring=make_scorer(reward), cv=5)
    return np.asarray(model.fit(train.features, train.labels).predict(test.features), dtype=np.float64)


def optimizer(tolerance: float | None) -> Callable[[People, People], Array]:
    """Demographic parity within a tolerance, with fairlearn; decisions are probabilities, so no luck is involved."""

    def decide(train: People, test: People) -> Array:
        model = ThresholdOptimizer(estimator=score_model(), constraints="demographic_parity", tol=tolerance)
        model.fit(train.features, train.labels, sensitive_features=train.groups)
        chances = model._pmf_predict(test.features, sensitive_features=test.groups)
        return np.asarray(chances[:, 1], dtype=np.float64)

    return decide


def fair(epsilon: float = EPSILON, per_group: bool = False) -> Callable[[People, People], Array]:
    """Demographic parity within a tolerance, here."""

    def decide(train: People, test: People) -> Array:
        constraints = [fg.DemographicParity(epsilon)]
        model = FairThresholdClassifier(score_model(), constraints=constraints, cost=COST, per_group=per_group)
        model.fit(train.features, train.labels, sensitive_features=train.groups)
        return np.asarray(model.predict(test.features, sensitive_features=test.groups), dtype=np.float64)

    return decide


METHODS: dict[str, Callable[[People, People], Array]] = {
    "TunedThresholdClassifierCV": tuned,
    "ThresholdOptimizer": optimizer(None),
    f"ThresholdOptimizer, tol={EPSILON}": optimizer(EPSILON),
    "FairThresholdClassifier": fair(),
    "FairThresholdClassifier, per_group": fair(per_group=True),
    f"FairThresholdClassifier, per_group, ε={EPSILON - MARGIN:.2f}": fair(EPSILON - MARGIN, per_group=True),
}


def measure(name: str, splits: int = SPLITS) -> dict[str, Array]:
    """Return reward, gap and acceptance on held-out people, (splits, 3) a method."""
    dataset = load_dataset(name)
    people = People(features(dataset), dataset.labels, dataset.groups)
    found: dict[str, list[tuple[float, float, float]]] = {method: [] for method in METHODS}
    halves = StratifiedShuffleSplit(splits, test_size=0.5, random_state=0)
    for learn, judge in halves.split(people.features, 2 * people.labels + people.groups):
        train, test = people.rows(learn), people.rows(judge)
        for method, decide in METHODS.items():
            d = decide(train, test)
            rates = [d[test.groups == group].mean() for group in np.unique(test.groups)]
            found[method].append((reward(test.labels, d), max(rates) - min(rates), float(d.mean())))
    return {method: np.array(rows) for method, rows in found.items()}


def table(name: str, found: dict[str, Array]) -> list[str]:
    """Return a row of Markdown a method."""
    rows = []
    for method, figures in found.items():
        mean, sd = figures.mean(axis=0), figures.std(axis=0, ddof=1)
        cells = [f"{each:.3f} ± {spread:.3f}" for each, spread in zip(mean, sd, strict=True)]
        kept = np.mean(figures[:, 1] <= EPSILON)
        rows.append(f"| {name} | {method} | {' | '.join(cells)} | {kept:.0%} |")
    return rows


def luck(name: str, found: dict[str, Array]) -> float:
    """Return the mean gap of held-out people if both groups were accepted at the same rate, as many as are."""
    rate = found["TunedThresholdClassifierCV"][:, 2].mean()
    sizes = np.bincount(load_dataset(name).groups) / 2
    return float(np.sqrt(2 / np.pi * rate * (1 - rate) * np.sum(1 / sizes)))


def draw_figure(all_found: dict[str, dict[str, Array]]) -> None:
    """Draw reward against gap, the mean of all splits, one marker a method, with the middle 80% of the splits."""
    figure, axes = panels(1, len(all_found), 7.2, 3.8)
    for ax, (name, found) in zip(axes, all_found.items(), strict=True):
        ax.axvspan(0.0, EPSILON, color=SHADE, linewidth=0, zorder=0, label="gap allowed")
        ax.axvline(luck(name, found), color="0.4", linewidth=1.0, linestyle=":", zorder=1, label="gap by luck alone")
        for place, (method, figures) in enumerate(found.items()):
            gain, gap = figures[:, 0], figures[:, 1]
            spread = [np.abs(np.quantile(each, [0.1, 0.9]) - each.mean())[:, None] for each in (gap, gain)]
            look: dict[str, Any] = {"color": COLOURS[place], "marker": SHAPES[place], "markersize": 7}
            ax.errorbar(
                gap.mean(),
                gain.mean(),
                xerr=spread[0],
                yerr=spread[1],
                linestyle="",
                elinewidth=0.9,
                markeredgecolor="white",
                markeredgewidth=0.6,
                zorder=3,
                label=method,
                **look,
            )
        ax.set_title(TASKS[name], fontsize=FONT)
        ax.set_xlabel("parity gap, held out", fontsize=FONT)
        ax.set_xlim(left=0.0)
        ax.xaxis.set_major_locator(MultipleLocator(0.05))
        ax.yaxis.set_major_locator(MaxNLocator(5))
    axes[0].set_ylabel("reward per person, held out", fontsize=FONT)
    add_legend(figure, axes, columns=2)
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    with io.BytesIO() as drawn:
        figure.savefig(drawn, dpi=150)
        Image.open(drawn).convert("RGB").quantize(256, Image.Quantize.FASTOCTREE).save(FIGURE, optimize=True)


def main() -> int:
    """Measure, draw and print the table."""
    found = {name: measure(name) for name in TASKS}
    draw_figure(found)
    print(f"| data | method | reward | parity gap | accepted | gap ≤ {EPSILON} |\n|---|---|---:|---:|---:|---:|")
    for name, figures in found.items():
        print("\n".join(table(TASKS[name], figures)))
    for name, figures in found.items():
        print(f"{TASKS[name]}: a gap of {luck(name, figures):.3f} by luck alone")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
