"""The paper's presets are near the paper, and the best thresholds of the suite's can be told from their neighbours."""

from functools import cache
from importlib import resources

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

import fairgate as fg
from fairgate.experiments.plan import STRICT
from fairgate.problem import is_feasible
from fairgate.tasks import presets
from fairgate.thresholds import exact_sweep

NO_THRESHOLD = ("mean-shift", "fico")  # none is feasible
PAPER, SUITE = presets(("presets.toml",)), [name for name in presets() if name not in presets(("presets.toml",))]

ORACLE = {  # Table II: reward, batch gap, acceptance
    "mve-s": (0.3168, 0.0062, 0.9964),
    "german": (0.4656, 0.0153, 0.9877),
    "compas": (0.7665, 0.0157, 0.9849),
}
OFS = {  # Tables I and VI: tail reward, tail batch gap, violation
    "mve-s": (0.3068, 0.0125, 7.98),
    "german": (0.4546, 0.0131, 31.13),
    "compas": (0.7556, 0.0101, 26.53),
    "german-strict": (0.4546, 0.0131, 445.69),
    "compas-strict": (0.7556, 0.0101, 440.62),
}
BASELINES = {  # Tables I and VI: violation of the unconstrained learner and of primal-dual
    "mve-s": (93.88, 33.14),
    "german": (622.10, 179.10),
    "compas": (921.37, 161.49),
    "german-strict": (797.41, 383.10),
    "compas-strict": (1130.38, 476.69),
}


@cache
def loops(name: str, learner: str) -> dict[str, NDArray[np.float64]]:
    """Full size, with seeds that neither the calibration nor a table uses: 30 loops of 3,000 rounds."""
    return fg.simulate(fg.load_task(name), fg.load_learner(learner, task=name), 3000, 30, seed=77).per_replicate()


@pytest.mark.parametrize("name", ORACLE)
def test_exact_oracle_is_near_the_papers(name: str) -> None:
    best = fg.oracle(fg.load_task(name)).best
    reward, _, acceptance = ORACLE[name]
    assert best.feasible
    assert best.reward == pytest.approx(reward, abs=0.02)
    assert best.acceptance == pytest.approx(acceptance, abs=0.005)


@pytest.mark.parametrize("name", ORACLE)
def test_batch_gap_at_the_exact_oracle_is_near_the_papers(name: str) -> None:
    # At the exact oracle's threshold: which of several almost equal ones a sampled sweep picks is a matter of its seed.
    task = fg.load_task(name)
    place = int(np.searchsorted(task.thresholds, fg.oracle(task).best.threshold))
    assert fg.sampled_sweep(task).gap[place] == pytest.approx(ORACLE[name][1], abs=0.005)


@pytest.mark.parametrize("name", OFS)
def test_ofs_is_near_the_papers(name: str) -> None:
    # Medians: about 3 loops in 100 explore in their first rounds and stay with what they met there.
    found = loops(name, "ofs")
    reward, gap, violation = OFS[name]
    assert np.median(found["reward"]) == pytest.approx(reward, abs=0.02)
    assert np.median(found["gap"]) == pytest.approx(gap, abs=0.005)
    assert 0.5 < np.median(found["violation"]) / violation < 2.0


@pytest.mark.slow
@pytest.mark.parametrize("name", BASELINES)
def test_violations_of_the_baselines_are_within_a_factor_of_two(name: str) -> None:
    # The furthest is primal-dual on German, 1.73 times the paper's.
    for who, violation in zip(("unconstrained", "primal-dual"), BASELINES[name], strict=True):
        assert 0.5 < loops(name, who)["violation"].mean() / violation < 2.0, who


def most(values: NDArray[np.bool_]) -> bool:
    """More than half of the seeds agree, beyond what a fair coin gives but once in 10,000 times."""
    return bool(values.sum() > binom.isf(1e-4, len(values), 0.5))


def test_the_main_verdicts_hold_at_full_size() -> None:
    """Seed by seed, so that a loop locked in elsewhere counts once.

    OFS earns more than U, and on MVE-S more than PD; it violates less than both on all three tasks and keeps its batch
    gap below ε. Its plays are the same under the strict constraints.
    """
    for task, epsilon in (("mve-s", 0.06), ("german", 0.02), ("compas", 0.03)):
        ofs = loops(task, "ofs")
        for rival in ("unconstrained", "primal-dual"):
            assert most(ofs["violation"] < loops(task, rival)["violation"]), (task, rival)
            if rival == "unconstrained" or task == "mve-s":  # elsewhere PD earns as much, unless it gets stuck
                assert most(ofs["reward"] > loops(task, rival)["reward"]), (task, rival)
        assert most(ofs["gap"] < epsilon), task
    for task in STRICT:
        np.testing.assert_array_equal(
            loops(task, "ofs")["reward"], loops(task.removesuffix("-strict"), "ofs")["reward"]
        )
        assert not fg.oracle(fg.load_task(task)).refined.feasible


def test_no_cost_would_let_german_s_pools_earn_what_compas_earns_in_the_paper() -> None:
    compas, german = fg.load_task("compas"), presets()["german"]["environment"]
    environment = compas.environment
    assert isinstance(environment, fg.environments.ScorePools)
    shared = fg.environments.ScorePools(environment.scores, environment.labels, environment.groups, **german)
    free = fg.Task(shared, fg.Problem(fg.Utility(0.0), compas.problem.constraints), compas.grid)
    assert fg.oracle(free).best.reward < 0.6 < ORACLE["compas"][0]


def test_what_the_paper_prints_is_as_printed() -> None:
    problems = {name: preset["problem"] for name, preset in PAPER.items()}
    assert {name: p["parity"] for name, p in problems.items()} == {
        "mve-s": 0.06,
        "german": 0.02,
        "compas": 0.03,
        "german-strict": 0.01,
        "compas-strict": 0.01,
    }
    assert "service" not in problems["mve-s"]
    assert problems["german"]["service"] == problems["compas"]["service"] == [0.30, 0.99]
    steps = {name: presets()[name]["learners"]["primal-dual"] for name in ("german", "compas")}
    assert {name: (s["step"], s["dual_step"]) for name, s in steps.items()} == {
        "german": (0.03, 0.10),
        "compas": (0.03, 0.40),
    }


@pytest.mark.parametrize("name", ["german", "compas"])
def test_strict_tasks_change_the_constraints_and_nothing_else(name: str) -> None:
    main, strict = presets()[name], presets()[f"{name}-strict"]
    changed = {"parity": 0.01, "service": [0.35, 0.85]}
    assert strict["problem"] == {**main["problem"], **changed}
    for key in ("dataset", "features", "environment", "grid", "learners"):
        assert strict[key] == main[key]


def test_what_is_one_for_all_tasks_is_one_for_all_tasks() -> None:
    german, compas = presets()["german"], presets()["compas"]
    assert german["features"] == compas["features"] == ["sex"]
    for key in ("floor", "rate"):
        assert german["environment"][key] == compas["environment"][key]
    learners = [preset["learners"] for preset in PAPER.values()]
    for key in ("step", "radius", "start_at"):
        assert len({each["unconstrained"][key] for each in learners}) == 1
    for key in ("radius", "start_at"):
        assert len({each["primal-dual"][key] for each in learners}) == 1


@pytest.mark.parametrize(
    ("file", "reasons"),
    [("presets.toml", ("paper", "calibrated", "chosen")), ("suite.toml", ("research", "chosen"))],
)
def test_every_number_carries_its_reason(file: str, reasons: tuple[str, ...]) -> None:
    text = resources.files("fairgate").joinpath(file).read_text(encoding="utf-8")
    for line in text.splitlines():
        key, equals, value = line.partition(" = ")
        if equals and not key.startswith("#") and not value.startswith('"'):
            _, _, reason = value.partition("  # ")
            assert reason.startswith(reasons), line


@pytest.mark.parametrize(("name", "at"), [(name, 0) for name in SUITE if name not in NO_THRESHOLD] + [("shock", 1500)])
def test_the_best_threshold_is_interior_and_clear(name: str, at: int) -> None:
    """It keeps every constraint by 0.004, a neighbour that earns more breaks one by 0.006, and accepting all does."""
    sweep = fg.oracle(fg.load_task(name).at(at)).sweep
    worst = sweep.residuals.max(axis=0)
    best = int(np.argmax(np.where(is_feasible(sweep.residuals), sweep.reward, -np.inf)))
    assert worst[best] <= -0.004
    for neighbour in (best - 1, best + 1):
        assert worst[neighbour] <= 0 or worst[neighbour] > 0.006 or sweep.reward[neighbour] < sweep.reward[best]
    assert 0 < best < len(worst) - 1
    assert min(worst[0], worst[-1]) > 0.006


def test_mean_shift_has_no_feasible_threshold_by_a_clear_margin() -> None:
    worst = exact_sweep(fg.load_task("mean-shift"), np.linspace(-6.0, 6.0, 1201)).residuals.max(axis=0)
    assert worst.min() == pytest.approx(0.1011, abs=1e-4)


def test_drift_moves_the_best_threshold_by_five_steps_and_one_is_always_feasible() -> None:
    task = fg.load_task("drift")
    best = [fg.oracle(task.at(t)).best for t in range(0, 1500, 75)]
    assert all(point.feasible for point in best)
    thresholds = [point.threshold for point in best]
    assert (max(thresholds) - min(thresholds)) / 0.1 == pytest.approx(5.0)


def test_what_was_best_before_the_shock_is_infeasible_after_it() -> None:
    task = fg.load_task("shock")
    old = fg.oracle(task.at(1499)).best
    assert exact_sweep(task.at(1500), np.array([old.threshold])).point(0).residuals[0] == pytest.approx(0.1, abs=1e-3)


def test_the_groups_of_placebo_are_equally_often_accepted_at_every_threshold() -> None:
    assert fg.oracle(fg.load_task("placebo")).sweep.gap.max() < 1e-12


def test_the_rare_group_is_missing_from_some_batches() -> None:
    """In 10,000 batches a share of 0.98^256 = 0.0057 lack it; 6 standard errors are 0.0045."""
    run = fg.simulate(fg.load_task("many-groups"), fg.Fixed(0.2), rounds=1000, seeds=10)
    missing = (run.counts[:, :, 5].sum(axis=(2, 3)) == 0).mean()
    assert missing == pytest.approx(0.98**256, abs=0.0045)
    assert missing > 0


def test_label_delay_is_interior_with_late_labels() -> None:
    late, prompt = fg.load_task("label-delay"), fg.load_task("interior")
    assert (late.environment.label_arrival, prompt.environment.label_arrival) == (0.05, 1.0)
    assert fg.oracle(late).best == fg.oracle(prompt).best
