"""simulate: the same numbers whatever the workers, any learner, clear refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import fairgate as fg
from fairgate import simulation
from fairgate.block import Block
from fairgate.problem import Feedback


def same(one: fg.Run, other: fg.Run) -> bool:
    pairs: list[tuple[NDArray[Any], NDArray[Any]]] = [
        (one.thresholds, other.thresholds), (one.counts, other.counts), (one.probabilities, other.probabilities),
        (one.batch.reward, other.batch.reward), (one.population.residuals, other.population.residuals),
    ]  # fmt: skip
    return all(np.array_equal(a, b) for a, b in pairs)


@pytest.mark.slow
@pytest.mark.parametrize("learner", [fg.OFS(), fg.PrimalDual()], ids=repr)
def test_results_are_bit_identical_for_any_number_of_workers(
    small_task: fg.Task, learner: fg.OFS, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulation, "BLOCK", 4)
    runs = [fg.simulate(small_task, learner, rounds=40, seeds=14, seed=3, workers=workers) for workers in (1, 2, 3)]
    assert same(runs[0], runs[1])
    assert same(runs[0], runs[2])
    assert not same(runs[0], fg.simulate(small_task, learner, rounds=40, seeds=14, seed=4))


def test_blocks_do_not_depend_on_the_order_they_are_run_in(small_task: fg.Task) -> None:
    learner = fg.OFS()

    def block(k: int) -> fg.Run:
        (run,) = Block(small_task, learner, 4, 30, 64, seed=0, coupling="common", number=k).pieces([30])
        return run

    forward, backward = [block(k) for k in (0, 1, 2)], [block(k) for k in (2, 1, 0)]
    for one, other in zip(forward, reversed(backward), strict=True):
        np.testing.assert_array_equal(one.counts, other.counts)
        np.testing.assert_array_equal(one.thresholds, other.thresholds)


def test_replicates_differ_from_each_other(small_task: fg.Task) -> None:
    run = fg.simulate(small_task, fg.Fixed(0.0), rounds=20, seeds=2)
    assert not np.array_equal(run.counts[0], run.counts[1])


def test_two_learners_with_the_same_seed_face_the_same_nature(small_task: fg.Task) -> None:
    """Nature and learner draw from separate streams, so equal thresholds meet equal people."""

    class Wasteful(fg.Fixed):
        def choose(self, state: fg.learners.State) -> NDArray[np.float64]:
            state.rng.random(17)
            return super().choose(state)

    runs = [fg.simulate(small_task, learner, rounds=20, seeds=3) for learner in (fg.Fixed(0.1), Wasteful(0.1))]
    np.testing.assert_array_equal(runs[0].counts, runs[1].counts)


def test_population_signals_are_what_batches_average_to(small_task: fg.Task) -> None:
    """2,000 loops of one round: within 6 standard errors (false alarm below 1e-8)."""
    run = fg.simulate(small_task, fg.Fixed(0.0), rounds=1, seeds=2000)
    rewards = run.batch.reward[:, 0]
    assert abs(rewards.mean() - run.population.reward[0, 0]) <= 6 * rewards.std() / np.sqrt(2000)


def test_a_sweep_over_settings_is_one_run(gaussian: fg.environments.GaussianScores) -> None:
    problem = fg.Problem(fg.Utility([0.5, 1.0, 2.0]), [fg.DemographicParity([0.01, 0.05, 0.2])])
    run = fg.simulate(fg.Task(gaussian, problem, [0.0]), fg.Fixed(0.0), rounds=300)
    rewards = run.population.reward[:, -100:].mean(axis=1)
    assert rewards[0] > rewards[1] > rewards[2]
    assert (np.diff(run.population.residuals[0, :, 0]) < 0).all()


def test_a_group_may_be_missing_from_a_batch() -> None:
    """A rare group: batches without it give a gap of 0 and the loop goes on."""
    environment = fg.environments.GaussianScores(
        means=[0.0, 0.5], shares=[0.99, 0.01], sd=[1.0, 1.0], slope=2.0, midpoint=0.0, gain=0.3, rate=0.1
    )
    problem = fg.Problem(fg.Utility(1.0), [fg.DemographicParity(0.1)])
    run = fg.simulate(fg.Task(environment, problem, [0.0]), fg.Fixed(0.0), rounds=200, seeds=5, batch=20)
    absent = fg.Counts(run.counts).people[..., 1] == 0
    assert 0 < absent.mean() < 1
    assert (run.batch_gap[absent] == 0).all()
    assert np.isfinite(run.batch.residuals).all()


def test_progress_adds_up_to_the_whole(small_task: fg.Task) -> None:
    done: list[int] = []
    fg.simulate(small_task, fg.OFS(), rounds=250, seeds=3, progress=done.append)
    assert sum(done) == 750
    assert len(done) > 2


class Constant:
    """A user's learner that inherits from nothing."""

    def __init__(self, value: float, groups: int = 2) -> None:
        self.value, self.groups = value, groups

    def start(self, setting: fg.Setting, replicates: int, rng: np.random.Generator) -> int:
        return replicates

    def propose(self, state: int) -> NDArray[np.float64]:
        return np.full((state, self.groups), self.value)

    def observe(self, state: int, played: fg.Policy, feedback: Feedback) -> None:
        assert feedback.reward.shape == (state,)


def test_a_users_learner_need_not_inherit_from_anything(small_task: fg.Task) -> None:
    run = fg.simulate(small_task, Constant(0.5), rounds=10, seeds=2)
    assert (run.thresholds == 0.5).all()


def test_per_group_thresholds_are_played_as_such(small_task: fg.Task) -> None:
    class PerGroup(Constant):
        def propose(self, state: int) -> NDArray[np.float64]:
            return np.tile([-9.0, 9.0], (state, 1))

    run = fg.simulate(small_task, PerGroup(0.0), rounds=3, seeds=1)
    assert fg.Counts(run.counts).rates[0, -1].tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"rounds": 0}, "rounds must be a whole number of at least 1, got 0"),
        ({"rounds": 2.5}, "rounds must be a whole number of at least 1, got 2.5"),
        ({"seeds": 0}, "seeds must be a whole number of at least 1, got 0"),
        ({"batch": 0}, "batch must be a whole number of at least 1, got 0"),
        ({"workers": 0}, "workers must be a whole number of at least 1, got 0"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"learner": fg.OFS(c=[0.1, 0.2]), "seeds": 5}, "seeds must be 2, as many as the settings that vary"),
        ({"learner": Constant(float("nan"))}, "must have thresholds that are numbers or ±inf, got nan"),
        ({"learner": Constant(0.0, groups=3)}, r"must have thresholds of shape \(1, 10, 2\) .* got .*\(1, 10, 3\)"),
    ],
)
def test_bad_arguments_get_one_sentence(small_task: fg.Task, arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(fg.InputError, match=sentence):
        fg.simulate(small_task, **({"learner": fg.OFS(), "rounds": 5} | arguments))  # type: ignore[call-overload]


def test_the_weights_of_a_lottery_may_sum_to_one_but_for_rounding() -> None:
    """Ten weights of 0.1 add up to a little more or less than 1, and nobody is accepted with more than certainty."""
    task = fg.load_task("interior")

    class Tenths:
        level = "selective-labels"

        def start(self, setting: fg.Setting, replicates: int, rng: np.random.Generator) -> int:
            return replicates

        def propose(self, state: int) -> fg.Policy:
            weights = np.array([0.1] * 8 + [0.2 - 1e-17, 1e-17 + 1e-16])
            return fg.Policy(np.full((10, state, 2), -np.inf), np.repeat(weights[:, None], state, axis=1))

        def observe(self, state: int, played: fg.Policy, feedback: fg.Feedback) -> None:
            pass

    run = fg.simulate(task, Tenths(), rounds=20, seeds=3)
    np.testing.assert_allclose(fg.Counts(run.probabilities).overall, 1.0)


def test_a_class_in_place_of_a_learner_is_said(small_task: fg.Task) -> None:
    with pytest.raises(fg.InputError, match=r"learner must be an object such as OFS\(\), got the class OFS"):
        fg.simulate(small_task, fg.OFS, rounds=2, seeds=1)  # type: ignore[call-overload]


def test_a_record_may_be_one_text_and_a_number_is_no_task() -> None:
    run = fg.simulate(fg.load_task("interior"), fg.OFS(), rounds=3, seeds=2, record="state")
    assert run.states["state"].shape == (2, 3, 2)
    wrong: Any = 3
    with pytest.raises(fg.InputError, match="task must be a Task or the name of one, such as 'interior', got 3"):
        fg.simulate(wrong, fg.OFS())


def test_parts_meet_the_same_people_as_if_simulated_alone(small_task: fg.Task) -> None:
    """Three settings of 100 seeds: more than a block, each as it would be alone, of gradient learners and of OFS."""
    steps = (0.01, 0.03, 0.3)
    together = fg.simulate(small_task, fg.PrimalDual(step=np.repeat(steps, 100).tolist()), 20, 300, parts=3)
    for place, step in enumerate(steps):
        alone = fg.simulate(small_task, fg.PrimalDual(step=step), 20, 100)
        np.testing.assert_array_equal(together.counts[100 * place : 100 * (place + 1)], alone.counts)
    twice, once = fg.simulate(small_task, fg.OFS(), 50, 6, parts=2), fg.simulate(small_task, fg.OFS(), 50, 3)
    np.testing.assert_array_equal(twice.thresholds, np.concatenate([once.thresholds] * 2))


@pytest.mark.parametrize(
    ("seeds", "options"), [(5, {"parts": 2}), (600, {"parts": 2}), (4, {"parts": 2, "coupling": "independent"})]
)
def test_parts_that_cannot_meet_the_same_people_are_refused(
    small_task: fg.Task, seeds: int, options: dict[str, Any]
) -> None:
    with pytest.raises(fg.InputError, match="parts of up to 250 that meet the same people"):
        fg.simulate(small_task, fg.OFS(), 10, seeds, **options)


def test_some_replicates_of_a_run_are_a_run(small_task: fg.Task, tmp_path: Path) -> None:
    whole, part = (fg.simulate(small_task, fg.OFS(), 30, seeds, record=["state"]) for seeds in (5, 2))
    cut = fg.Run.load(whole.rows(slice(2)).save(tmp_path / "cut.parquet"))
    assert cut.settings == fg.Run.load(part.save(tmp_path / "part.parquet")).settings
    assert cut.summary(10) == part.summary(10)
    np.testing.assert_array_equal(cut.thresholds, part.thresholds)
    for name in part.states:
        np.testing.assert_array_equal(cut.states[name], part.states[name])


@pytest.mark.parametrize("name", ["ofs", "primal-dual", "mixture"])
def test_a_summary_tells_what_the_run_would(small_task: fg.Task, name: str) -> None:
    learner = fg.load_learner(name)
    size: dict[str, Any] = {"rounds": 330, "seeds": 4, "seed": 2, "batch": 64}
    run = fg.simulate(small_task, learner, **size)
    found = fg.simulate(small_task, learner, **size, keep="summary", tail=40)
    for figure, values in run.per_replicate(40).items():
        np.testing.assert_allclose(found.figures[figure], values, rtol=1e-12, err_msg=figure)
    assert found.settings == {**run.settings, "tail": 40}
    assert found.summary()["reward"].mean == pytest.approx(run.summary(40)["reward"].mean)


def test_a_summary_is_the_same_for_any_number_of_workers(small_task: fg.Task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "BLOCK", 4)
    one, two = (
        fg.simulate(small_task, fg.OFS(), rounds=40, seeds=10, keep="summary", workers=workers) for workers in (1, 2)
    )
    assert all(np.array_equal(one.figures[name], two.figures[name]) for name in one.figures)


def test_a_built_in_task_may_be_named() -> None:
    named, loaded = (fg.simulate(task, fg.OFS(), rounds=20, seeds=2) for task in ("mve-s", fg.load_task("mve-s")))
    np.testing.assert_array_equal(named.batch.reward, loaded.batch.reward)
    assert fg.simulate("mve-s", fg.OFS(), rounds=20, seeds=2, keep="summary").settings["task"]["name"] == "mve-s"
    with pytest.raises(fg.InputError, match="unknown task 'mve-t': did you mean 'mve-s'"):
        fg.simulate("mve-t", fg.OFS())


def test_what_is_kept_must_be_known_and_its_tail_within_the_run(small_task: fg.Task) -> None:
    with pytest.raises(fg.InputError, match="keep"):
        fg.simulate(small_task, fg.OFS(), rounds=10, seeds=2, keep="lines")  # type: ignore[call-overload]
    with pytest.raises(fg.InputError, match="tail must be at most the 10 rounds"):
        fg.simulate(small_task, fg.OFS(), rounds=10, seeds=2, keep="summary", tail=11)


@pytest.mark.parametrize("name", ["label-delay", "interior"])
def test_parts_meet_the_same_people_as_one_alone(name: str) -> None:
    """Late labels and the generators of scalar learners included."""

    class Picky:
        def __init__(self, grid: list[float], rng: np.random.Generator) -> None:
            self.grid, self.rng = grid, rng

        def propose(self) -> float:
            return float(self.rng.choice(self.grid))

        def observe(self, threshold: float, reward: float, residuals: list[float]) -> None:
            pass

    task = fg.load_task(name)
    for learner in (fg.OFS(), fg.learners.scalar(Picky)):
        alone = fg.simulate(task, learner, rounds=30, seeds=3)
        beside = fg.simulate(task, learner, rounds=30, seeds=9, parts=3)
        for part in range(3):
            np.testing.assert_array_equal(beside.rows(slice(3 * part, 3 * part + 3)).thresholds, alone.thresholds)
            np.testing.assert_array_equal(beside.rows(slice(3 * part, 3 * part + 3)).counts, alone.counts)
