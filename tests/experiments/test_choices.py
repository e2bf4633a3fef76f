"""What the paper leaves open: every choice is listed with its true value, and can be made otherwise."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatch
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairgate as fg
from fairgate.experiments import choices, trials
from fairgate.experiments.claims import calibrated
from fairgate.experiments.plan import METHODS, STRICT, TASKS, Plan, expect, open_choices, paper
from fairgate.experiments.reproduce import reproduce
from fairgate.experiments.results import Table
from fairgate.experiments.variants import VARIANTS, load_learner, load_task
from fairgate.learners.baselines.gradient import GradientState
from fairgate.store import read_table
from fairgate.tasks import presets

SMALL = Plan(rounds=60, seeds=2, many=3, seed=1, tail=20)
ALL = (*TASKS, *STRICT)


def reasons() -> Iterator[tuple[str, str]]:
    """Yield the path of every number in presets.toml, and the first word of its comment."""
    table = ""
    for line in resources.files("fairgate").joinpath("presets.toml").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            table = line.strip("[]")
        key, equals, rest = line.partition(" = ")
        if equals and not line.startswith("#") and not rest.startswith('"'):
            yield f"{table}.{key}", rest.partition("  # ")[2].replace(":", " ").replace(",", " ").split()[0]


def test_every_number_of_the_papers_tasks_is_the_papers_or_is_listed() -> None:
    listed = {path for entry in open_choices().values() for path in entry.get("at", ())}
    found = dict(reasons())
    assert len(found) > 50
    missing = [path for path, reason in found.items() if reason != "paper" and path not in listed]
    assert missing == []
    assert [path for path in listed if found.get(path) == "paper"] == []


def test_the_kinds_are_those_that_presets_toml_gives() -> None:
    found = dict(reasons())
    for key, entry in open_choices().items():
        told = {found[path] for path in entry.get("at", ()) if path in found}
        if told:
            assert entry["kind"] == ("calibrated" if "calibrated" in told else "chosen"), key
        assert entry["kind"] in choices.KINDS


def test_values_are_read_from_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {each.key: each.value for each in choices.choices(Plan(seed=5, rounds=70))}
    assert (values["seed"], values["rounds"]) == ("5", "70")
    assert values["split"] == "0.1 (German); 0.9 (COMPAS)"
    assert values["c"] == "0.5"
    assert values["radius"].startswith("0.05 (U MVE-S, U German); ")
    monkeypatch.setattr("fairgate.experiments.plan.STRESS", {"cost": (7.0,)})
    changed = {each.key: each.value for each in choices.choices(Plan())}
    assert changed["stress"] == "cost 7"


def test_targets_are_figures_that_the_paper_prints() -> None:
    printed = {f"{t}.{task}.{m}.{f}" for t in ("table1", "table6") for task in paper()[t] for m in METHODS
               for f in choices.FIGURES}  # fmt: skip
    printed |= {f"table2.{task}.sampled.{name}" for task in TASKS for name in paper()["table2"][task]}
    for entry in open_choices().values():
        for pattern in entry["targets"]:
            assert any(fnmatch(key, pattern) for key in printed), pattern
    assert any(fnmatch("table1.compas.primal-dual.violation", pattern) for pattern in calibrated())
    for key in ("table6.compas-strict.primal-dual.violation", "table3.german.reward"):
        assert not any(fnmatch(key, pattern) for pattern in calibrated())


def numbers() -> dict[str, Any]:
    return {
        "table1.german.unconstrained.reward": {"ours": {"mean": 0.2, "sd": 0.09}, "paper": {"mean": 0.1, "sd": 0.03}},
        "table1.german.unconstrained.gap": {"ours": {"mean": 0.02, "sd": 0.04}, "paper": {"mean": 0.02, "sd": 0.02}},
        "table1.german.unconstrained.violation": {"ours": {"mean": 60, "sd": 4}, "paper": {"mean": 600.0, "sd": 8.0}},
        "table1.german.unconstrained.population_gap": {"ours": {"mean": 0.01, "sd": 0.01}},
        "table2.german.sampled.unconstrained": {"ours": {"mean": 0.25}, "paper": {"mean": 0.5}},
        "table4.german.rule": {"ours": "one", "paper": "other"},
    }


def by_key(tables: list[Table]) -> dict[str, Table]:
    return {table.key: table for table in tables}


def test_misses_and_spreads_are_those_of_the_run() -> None:
    found = by_key(choices.tables(Plan(), numbers()))
    figures = {key: value["ours"] for table in found.values() for key, value in table.figures().items()}
    told = figures["chosen.features.targets"]
    assert "Table I German Unconstrained: reward 0.1000 → 0.2000 (+0.1000), gap" in told
    assert "violation 600.00 → 60.00 (−540.00); Table I COMPAS Unconstrained; " in told
    assert figures["targets.table1.german.unconstrained.violation.miss"]["mean"] == -540.0
    assert "floor" in figures["targets.table1.german.unconstrained.violation.choices"]
    ratios = {f: figures[f"spread.german.unconstrained.{f}_ratio"]["mean"] for f in choices.FIGURES}
    assert ratios == pytest.approx({"reward": 3.0, "gap": 2.0, "violation": 0.5})
    assert figures["spread-gaps.german.unconstrained_miss"]["mean"] == -0.25
    assert set(by_key(choices.tables(Plan(), {}))) == {"chosen"}


def test_many_targets_are_summed_as_the_calibration_does() -> None:
    radius = next(each for each in choices.choices(Plan()) if each.key == "radius")
    doubled = {
        f"table1.{task}.unconstrained.{figure}": {
            "ours": {"mean": 2.0 * paper()["table1"][task]["unconstrained"][figure][0]},
            "paper": {"mean": paper()["table1"][task]["unconstrained"][figure][0]},
        }
        for task in TASKS
        for figure in choices.FIGURES
    }
    rewards = sum(paper()["table1"][task]["unconstrained"]["reward"][0] for task in TASKS)
    assert radius.text(doubled) == (
        f"Table I Unconstrained (9 figures): summed miss {rewards / 0.1 + 6 * np.log(2.0):.2f}; Table I PrimalDual"
    )


@pytest.mark.parametrize("name", [name for name in VARIANTS if name])
def test_every_variant_makes_one_listed_choice_otherwise(name: str) -> None:
    variant = VARIANTS[name]
    assert variant.choice in open_choices()
    tasks = [load_task(task, name) is not load_task(task) for task in ALL]
    learners = [load_learner(m, task, name) != load_learner(m, task) for m in METHODS for task in ALL]
    assert any(tasks) + any(learners) + (variant.rounds != 1.0) == 1


def test_the_variant_without_a_name_is_the_preset() -> None:
    for task in ALL:
        assert load_task(task, "") is fg.load_task(task)
        assert all(load_learner(m, task, "") == fg.load_learner(m, task=task) for m in METHODS)
    assert presets()["compas"]["features"] == ["sex"]
    with pytest.raises(fg.InputError, match="unknown variant 'c-3'"):
        load_task("german", "c-3")


@pytest.mark.parametrize("name", ["standardised", "unit"])
def test_ofs_does_not_notice_the_scale_of_the_score(name: str) -> None:
    usual, scaled = (load_task("compas", variant) for variant in ("", name))
    plays = [
        np.searchsorted(task.thresholds, fg.simulate(task, fg.OFS(), 100, 3, seed=2).thresholds[..., 0])
        for task in (usual, scaled)
    ]
    assert (np.abs(plays[0] - plays[1]) > 0).mean() < 0.02  # a score on a threshold may fall to either side
    assert scaled.thresholds[-1] - scaled.thresholds[0] != usual.thresholds[-1] - usual.thresholds[0]


def test_scores_out_of_sample_are_others_but_alike() -> None:
    usual, other = (load_task("german", variant).environment.describe() for variant in ("", "out-of-sample"))
    assert usual != other
    raw = [np.asarray(load_task("german", variant).environment.scores) for variant in ("", "out-of-sample")]  # type: ignore[attr-defined]
    assert 0.9 < np.corrcoef(raw[0], raw[1])[0, 1] < 0.999


def first_plays(variant: str, rounds: int) -> np.ndarray[Any, Any]:
    task, learner = load_task("german", variant), expect(fg.OFS, load_learner("ofs", "german", variant))
    quiet = replace(learner, exploration=0.0)
    return np.asarray(fg.simulate(task, quiet, rounds, 3, seed=0).thresholds[..., 0])


def test_ties_and_first_plays_are_as_the_variants_say() -> None:
    grid = fg.load_task("german").thresholds
    assert (first_plays("", 1) == grid[0]).all()
    assert (first_plays("ties-high", 1) == grid[-1]).all()
    np.testing.assert_array_equal(first_plays("each-once", len(grid)), np.tile(grid, (3, 1)))
    np.testing.assert_array_equal(np.sort(first_plays("optimistic", len(grid))), np.tile(grid, (3, 1)))


def test_multipliers_are_capped() -> None:
    task, unequal = fg.load_task("german-strict"), np.zeros((2, 2, 2, 2))
    unequal[:, 0, :, 1] = unequal[:, 1, :, 0] = 64.0
    for learner, most in ((load_learner("primal-dual", "german-strict", "capped"), 1.0), (fg.PrimalDual(), np.inf)):
        state: GradientState = learner.start(task.setting, 2, np.random.default_rng(0))
        feedback = task.problem.reveal(fg.Counts(unequal))
        for _ in range(300):
            learner.observe(state, learner.propose(state), feedback)
        assert (state.multipliers <= most).all()
        assert (state.multipliers.max() > 1.0) == (most > 1.0)


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Path:
    few = {name: VARIANTS[name] for name in ("", "no-sex", "race", "sex-race", "c-2", "rounds-double")}
    out = tmp_path_factory.mktemp("tried")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trials, "VARIANTS", few)
        reproduce(["chosen", "table1", "choices"], SMALL, out, 1, lambda text: None)
    return out


def test_trials_are_the_runs_they_say(tried: Path) -> None:
    found = json.loads((tried / "summary.json").read_text())["numbers"]
    for variant, key in (("", "with sex"), ("no-sex", "without")):
        run = fg.simulate(load_task("compas", variant), fg.load_learner("unconstrained", "compas"), 60, 2, seed=1)
        ours = found[f"features.compas.unconstrained.{key}.reward"]["ours"]["mean"]
        assert ours == pytest.approx(run.summary(20)["reward"].mean)
    assert found["features.compas.ofs.with sex.violation"]["paper"] == {"mean": 26.53, "sd": 1.05}
    same = [found[f"choices.{key}.primal-dual"]["ours"]["mean"] for key in ("none.as-chosen", "c.c-2")]
    assert same[0] == same[1]
    assert found["choices.rounds.rounds-double.ofs"] != found["choices.none.as-chosen.ofs"]
    misses = sum(
        float(choices.miss(f, found[f"table1.{task}.ofs.{f}"]["ours"]["mean"], paper()["table1"][task]["ofs"][f][0]))
        for task in TASKS
        for f in choices.FIGURES
    )
    assert found["choices.none.as-chosen.ofs"]["ours"]["mean"] == pytest.approx(misses)


def test_moved_verdicts_are_told_from_and_to() -> None:
    before = {"one": "holds", "two": "does not hold", "three": "holds"}
    assert (
        trials.moved(before, {"one": "holds in direction", "two": "does not hold"}) == "one: holds → holds in direction"
    )
    assert trials.moved(before, before) == "none"


def test_claims_that_need_other_runs_are_left_out(tried: Path) -> None:
    outcomes = read_table(tried / "runs" / "choices-as-chosen.parquet")[1]["verdicts"]
    assert {"after-tuning", "stress"} & set(outcomes) == set()
    assert {"highest-reward", "near-oracle", "strict-german", "screening"} <= set(outcomes)
    with pytest.raises(trials.NotRunError):
        trials.Held(SMALL, tried / "runs").run("german", "ofs")


def test_page_and_manifest_tell_what_was_chosen(tried: Path) -> None:
    page = (tried / "report.html").read_text()
    assert 'id="chosen"' in page
    assert page.index('id="chosen"') < page.index('id="tables"')
    assert "printed description" not in page
    assert "locked in far from the lowest threshold" in page
    manifest = json.loads((tried / "manifest.json").read_text())
    told = {each["key"]: each for each in manifest["choices"]}
    assert set(told) == set(open_choices())
    assert told["seed"]["value"] == "1"
    summary = json.loads((tried / "summary.json").read_text())["numbers"]["table1.german.unconstrained.violation"]
    miss = told["floor"]["targets"]["table1.german.unconstrained.violation"]["table1.german.unconstrained.violation"]
    assert miss["miss"] == summary["ours"]["mean"] - summary["paper"]["mean"]
