"""fairgate.gym: the tasks as gymnasium environments, one by one and many at once."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from numpy.typing import NDArray
from river import bandit

import fairgate as fg
from fairgate.gym import FairgateVectorEnv, ThresholdEnv, env_id
from fairgate.tasks import presets

OPTIONS: list[dict[str, Any]] = [
    {}, {"per_group": True}, {"discrete": True}, {"discrete": True, "per_group": True},
]  # fmt: skip

SCALED: dict[str, Any] = {"normalise": True, "dtype": "float32", "per_group": True}


@pytest.mark.parametrize("name", presets())
def test_every_task_has_an_id(name: str) -> None:
    env = gymnasium.make(env_id(name))
    assert env.get_wrapper_attr("task") is fg.load_task(name)


def test_the_ids_are_camel_case() -> None:
    ours = {name for name in gymnasium.registry if name.startswith("fairgate/")}
    assert {"fairgate/Compas-v0", "fairgate/German-v0", "fairgate/MveS-v0", "fairgate/Interior-v0"} <= ours
    assert len(ours) == len(presets())


def test_an_id_can_name_the_module_that_registers_it() -> None:
    code = "import gymnasium; print(gymnasium.make('fairgate.gym:fairgate/Interior-v0').spec.id)"
    printed = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == "fairgate/Interior-v0"


@pytest.mark.parametrize("options", OPTIONS, ids=repr)
@pytest.mark.parametrize("name", presets())
def test_gymnasium_finds_nothing_wrong(name: str, options: dict[str, Any]) -> None:
    """Its checker recommends thresholds from −1 to 1; scores have their own scale. It has nothing else to say."""
    env = gymnasium.make(env_id(name), **options).unwrapped
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        check_env(env, skip_render_check=True)
    recommended = [each for each in said if "recommend using a symmetric and normalized space" in str(each.message)]
    assert len(said) == len(recommended) == ("discrete" not in options)


@pytest.mark.parametrize("name", presets())
def test_gymnasium_has_nothing_to_say_about_normalised_actions(name: str) -> None:
    check_env(gymnasium.make(env_id(name), normalise=True, dtype="float32").unwrapped, skip_render_check=True)


def test_gymnasium_has_nothing_to_say_about_pictures_and_text() -> None:
    check_env(gymnasium.make("fairgate/ManyGroups-v0", normalise=True, per_group=True).unwrapped)


def test_gymnasium_has_nothing_to_say_about_thresholds_from_minus_1_to_1(
    gaussian: fg.environments.GaussianScores, problem: fg.Problem
) -> None:
    task = fg.Task(gaussian, problem, np.linspace(-1, 1, 9))
    check_env(gymnasium.make("fairgate/Interior-v0", task=task).unwrapped, skip_render_check=True)


@pytest.mark.parametrize("options", OPTIONS, ids=repr)
def test_the_spaces_are_as_documented(small_task: fg.Task, options: dict[str, Any]) -> None:
    env, many = ThresholdEnv(small_task, **options), FairgateVectorEnv(small_task, 3, **options)
    wanted: list[spaces.Space[Any]] = [
        spaces.Box(-2.0, 2.0, (1,), np.float64), spaces.Box(-2.0, 2.0, (2,), np.float64),
        spaces.Discrete(9), spaces.MultiDiscrete([9, 9]),
    ]  # fmt: skip
    assert env.action_space == many.single_action_space == wanted[OPTIONS.index(options)]
    low, high = [0, 0, -1.5, -0.2, -0.7, -0.9, 0], [1, 1, 1, 0.8, 0.3, 0.1, 1]
    assert env.observation_space == spaces.Box(np.array(low), np.array(high), dtype=np.float64)
    assert env.observation_space == many.single_observation_space


@pytest.mark.parametrize("name", ["compas", "interior", "label-delay", "many-groups", "shock"])
@pytest.mark.parametrize("seeds", [1, 3])
def test_the_same_seed_meets_the_same_nature_as_simulate(name: str, seeds: int) -> None:
    task = fg.load_task(name)
    run = fg.simulate(task, fg.Fixed(0.35), rounds=60, seeds=seeds, seed=8, batch=40)
    env = FairgateVectorEnv(task, seeds, rounds=60, batch=40)
    env.reset(seed=8)
    for t in range(60):
        *_, info = env.step(np.full((seeds, 1), 0.35))
        np.testing.assert_array_equal(info["counts"], run.counts[:, t])
        np.testing.assert_array_equal(info["thresholds"], run.thresholds[:, t])
        np.testing.assert_array_equal(info["batch_reward"], run.batch.reward[:, t])
        np.testing.assert_array_equal(info["population_reward"], run.population.reward[:, t])
        for j, residual in enumerate(run.names):
            np.testing.assert_array_equal(info["batch_residuals"][residual], run.batch.residuals[j, :, t])
            np.testing.assert_array_equal(info["population_residuals"][residual], run.population.residuals[j, :, t])


def test_more_loops_than_a_block_meet_the_same_nature_as_simulate() -> None:
    task = fg.load_task("label-delay")
    run = fg.simulate(task, fg.Fixed(0.5), rounds=5, seeds=600, seed=1)
    env = FairgateVectorEnv(task, 600)
    env.reset(seed=1)
    counts = [env.step(np.full((600, 1), 0.5))[-1]["counts"] for _ in range(5)]
    np.testing.assert_array_equal(np.stack(counts, axis=1), run.counts)


@pytest.mark.parametrize("options", [*OPTIONS, SCALED], ids=repr)
@pytest.mark.parametrize("name", ["german", "label-delay", "many-groups"])
def test_one_of_many_is_the_single_one(name: str, options: dict[str, Any]) -> None:
    """Bit for bit, across the end of an episode, with gymnasium's own vector environment as the reference."""
    settings = {"task": name, "rounds": 12, "batch": 30, **options}
    native, reference = FairgateVectorEnv(num_envs=1, **settings), SyncVectorEnv([lambda: ThresholdEnv(**settings)])
    native.action_space.seed(4)
    assert data_equivalence(native.reset(seed=3), reference.reset(seed=3), exact=True)
    for _ in range(40):
        actions = native.action_space.sample()
        assert data_equivalence(native.step(actions), reference.step(actions), exact=True)


def test_loops_are_as_spread_out_as_single_ones(small_task: fg.Task) -> None:
    """Many native loops against as many single ones of other seeds: equal means and spreads within 5 errors."""

    def last_rewards(env: Any) -> NDArray[np.float64]:
        env.reset(seed=5)
        for _ in range(8):
            *_, info = env.step(np.zeros((400, 1)))
        return np.asarray(info["batch_reward"])

    native = last_rewards(FairgateVectorEnv(small_task, 400, batch=20))
    single = last_rewards(SyncVectorEnv([lambda: ThresholdEnv(small_task, batch=20)] * 400))
    for moment in (1, 2):
        one, other = native**moment, single**moment
        assert abs(one.mean() - other.mean()) <= 5 * np.sqrt((one.var() + other.var()) / 400)


def test_an_episode_ends_after_its_rounds_and_many_start_anew_by_themselves(small_task: fg.Task) -> None:
    env = FairgateVectorEnv(small_task, 2, rounds=3)
    assert env.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    env.reset(seed=0)
    ends, left, rewards = [], [], []
    for _ in range(8):
        observations, reward, terminated, truncated, _ = env.step(np.zeros((2, 1)))
        assert not terminated.any()
        ends.append(truncated.tolist())
        left.append(observations[:, -1].round(2).tolist())
        rewards.append((reward != 0).all())
    assert [end[0] for end in ends] == [False, False, True, False, False, False, True, False]
    assert [share[0] for share in left] == [0.67, 0.33, 0.0, 1.0, 0.67, 0.33, 0.0, 1.0]
    assert rewards == [True, True, True, False, True, True, True, False]
    assert all(a == b for a, b in ends + left)


def test_a_step_needs_a_reset(small_task: fg.Task) -> None:
    env = ThresholdEnv(small_task, rounds=1)
    with pytest.raises(ResetNeeded, match=r"call reset\(\)"):
        env.step(np.zeros(1))
    env.reset()
    assert env.step(np.zeros(1))[3] is True
    with pytest.raises(ResetNeeded, match=r"call reset\(\)"):
        env.step(np.zeros(1))


def test_seeds_come_through_reset_alone(small_task: fg.Task) -> None:
    def rewards(env: ThresholdEnv, seed: int | None) -> list[float]:
        env.reset(seed=seed)
        return [env.step(np.zeros(1))[1] for _ in range(5)]

    env = ThresholdEnv(small_task)
    first, second = rewards(env, 7), rewards(env, None)
    assert first != second
    assert (first, second) == (rewards(env, 7), rewards(env, None))
    assert rewards(ThresholdEnv(small_task), None) != rewards(ThresholdEnv(small_task), None)


def test_the_reward_is_the_batch_reward_minus_the_penalty() -> None:
    env = ThresholdEnv("interior", penalty=2.5)
    env.reset(seed=0)
    for threshold in (-2.0, 0.5, 2.0):
        observation, reward, _, _, info = env.step(np.array([threshold]))
        residuals = np.array(list(info["batch_residuals"].values()))
        assert reward == info["batch_reward"] - 2.5 * np.maximum(residuals, 0.0).sum()
        np.testing.assert_array_equal(observation[2:6], [info["batch_reward"], *residuals])
        np.testing.assert_array_equal(observation[:2], info["acceptance"])
        counts = fg.Counts(info["counts"][None])
        np.testing.assert_array_equal(info["acceptance"], counts.rates[0])
        assert info["gap"] == counts.gap[0]


@pytest.mark.parametrize("name", ["compas", "interior", "many-groups"])
def test_costs_are_the_positive_parts_of_the_residuals_for_one_loop_and_for_many(name: str) -> None:
    many = FairgateVectorEnv(name, 3)
    many.reset(seed=0)
    names = many.task.problem.names
    seen = []
    for threshold in (-2.0, -0.5, 0.5):
        *_, info = many.step(np.full((3, 1), threshold))
        for costs, cost, residuals in (
            ("costs", "cost", "batch_residuals"),
            ("population_costs", "population_cost", "population_residuals"),
        ):
            wanted = np.stack([np.maximum(info[residuals][each], 0.0) for each in names], axis=1)
            np.testing.assert_array_equal(info[costs], wanted)
            np.testing.assert_allclose(info[cost], wanted.sum(axis=1), rtol=1e-15)
            assert info[f"_{cost}"].all()
            assert info[f"_{costs}"].all()
        seen.append(info["cost"])
    assert (np.concatenate(seen) > 0).any()
    one = ThresholdEnv(name)
    one.reset(seed=0)
    *_, single = one.step(np.full(1, -0.5))
    assert type(single["cost"]) is float
    assert single["costs"].shape == (len(names),)
    assert single["cost"] == pytest.approx(single["costs"].sum())


def test_the_documented_idiom_is_0_where_nothing_is_violated() -> None:
    """Masks beside the entries count as 1 each if one sums over all values: 3 residuals came to 3.0."""
    everybody = np.full((4, 1), -2.1)
    for env in (
        gymnasium.make_vec("fairgate/German-v0", 4),
        gymnasium.make_vec("fairgate/German-v0", 4, vectorization_mode="sync"),
    ):
        env.reset(seed=0)
        *_, info = env.step(everybody)
        assert info["population_cost"].tolist() == [0.0] * 4
        assert sum(np.maximum(each, 0.0) for each in info["population_residuals"].values()).tolist() == [3.0] * 4


def test_safety_gymnasiums_six_values_can_be_had() -> None:
    """As its wrapper Gymnasium2SafetyGymnasium does, whose agents add up cost over an episode."""
    env, total, paid = ThresholdEnv("interior", penalty=0.0, rounds=20), 0.0, 0.0
    env.reset(seed=0)
    for _ in range(20):
        _, reward, _, _, info = env.step(np.zeros(1))
        total, paid = total + info["cost"], paid + reward - info["batch_reward"]
    assert total > 0.0
    assert paid == 0.0


def test_late_labels_make_the_reward_late() -> None:
    """As a learner sees it: what arrived labels say, not as if the others were bad (within 6 standard errors)."""
    env = FairgateVectorEnv("label-delay", 200, penalty=0.0)
    env.reset(seed=0)
    seen, earned = np.empty((2, 150, 200))
    for t in range(150):
        _, seen[t], _, _, info = env.step(np.full((200, 1), 0.5))
        earned[t] = info["batch_reward"]
    assert abs(seen[0].mean() - earned[0].mean()) <= 6 * seen[0].std() / np.sqrt(200)
    assert seen[0].std() > 3 * earned[0].std()  # from 5% of the labels
    assert abs(seen[-30:].mean() / earned[-30:].mean() - 1.0) < 0.02


def test_thresholds_by_group_reach_their_groups(small_task: fg.Task) -> None:
    env = ThresholdEnv(small_task, per_group=True)
    env.reset(seed=0)
    *_, info = env.step(np.array([-2.0, 2.0]))
    assert info["acceptance"][0] > 0.8
    assert info["acceptance"][1] < 0.2


def test_discrete_actions_are_places_in_the_grid(small_task: fg.Task) -> None:
    env = ThresholdEnv(small_task, per_group=True, discrete=True)
    env.reset(seed=0)
    np.testing.assert_array_equal(env.step(np.array([0, 8]))[-1]["thresholds"], [-2.0, 2.0])


def test_thresholds_beyond_the_grid_are_moved_to_its_end(small_task: fg.Task) -> None:
    env = ThresholdEnv(small_task)
    env.reset(seed=0)
    np.testing.assert_array_equal(env.step(np.array([9.0]))[-1]["thresholds"], [2.0, 2.0])


def test_a_group_with_nobody_in_the_batch_keeps_its_last_rate() -> None:
    env = ThresholdEnv("many-groups", batch=10, rounds=200)
    last, info = env.reset(seed=0)
    missing = 0
    for _ in range(200):
        observation, *_, info = env.step(np.zeros(1))
        absent = info["counts"].sum(axis=(1, 2)) == 0
        np.testing.assert_array_equal(observation[:6][absent], last[:6][absent])
        assert env.observation_space.contains(observation)
        missing, last = missing + absent.sum(), observation
    assert missing > 100


def test_what_is_returned_is_not_used_again(small_task: fg.Task) -> None:
    def arrays(value: Any) -> list[NDArray[Any]]:
        if isinstance(value, np.ndarray):
            return [value]
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else ()
        return [array for part in parts for array in arrays(part)]

    for env, action in ((ThresholdEnv(small_task), np.zeros(1)), (FairgateVectorEnv(small_task, 2), np.zeros((2, 1)))):
        returned = [arrays(env.reset(seed=0)), arrays(env.step(action)), arrays(env.step(action)), [action]]
        for one, other in itertools.combinations(returned, 2):
            assert not any(np.shares_memory(a, b) for a in one for b in other)


def test_settings_may_vary_by_loop(gaussian: fg.environments.GaussianScores) -> None:
    problem = fg.Problem(fg.Utility([0.5, 2.0]), [fg.DemographicParity([0.01, 0.2])])
    task = fg.Task(gaussian, problem, [-1.0, 0.0, 1.0])
    env = FairgateVectorEnv(task, 2)
    env.reset(seed=0)
    *_, info = env.step(np.zeros((2, 1)))
    assert info["population_reward"][0] > info["population_reward"][1]
    with pytest.raises(fg.InputError, match=r"task has settings for 2 replicates, but there are 1: play it as"):
        ThresholdEnv(task)


def test_a_users_own_reward_and_constraint_are_unbounded(gaussian: fg.environments.GaussianScores) -> None:
    class Own:
        names = ("own",)

        def reward(self, counts: fg.Counts) -> NDArray[np.float64]:
            return 100.0 * counts.overall

        def residuals(self, counts: fg.Counts) -> list[NDArray[np.float64]]:
            return [50.0 * counts.overall]

    env = ThresholdEnv(fg.Task(gaussian, fg.Problem(Own(), [Own(), fg.EqualOpportunity(0.1)]), [-2.0, 0.0, 2.0]))
    box = env.observation_space
    assert isinstance(box, spaces.Box)
    assert box.low.tolist() == [0, 0, -np.inf, -np.inf, -1, 0]
    env.reset(seed=0)
    observation, *_, info = env.step(np.array([-2.0]))
    assert observation[2] == info["batch_reward"] > 50
    assert list(info["batch_residuals"]) == ["own", "opportunity"]


def test_normalised_actions_reach_from_end_to_end_of_the_grid() -> None:
    plain, scaled = FairgateVectorEnv("compas", 3), FairgateVectorEnv("compas", 3, normalise=True)
    grid = plain.task.thresholds
    plain.reset(seed=0)
    scaled.reset(seed=0)
    middle = 0.5 * (grid[0] + grid[-1])
    *_, wanted = plain.step(np.array([[grid[0]], [middle], [grid[-1]]]))
    *_, info = scaled.step(np.array([[-1.0], [0.0], [1.0]]))
    assert data_equivalence(info, wanted, exact=True)
    assert scaled.single_action_space == spaces.Box(-1.0, 1.0, (1,), np.float64)


def test_32_bit_floats_are_the_64_bit_ones_rounded() -> None:
    plain, short = FairgateVectorEnv("german", 4), FairgateVectorEnv("german", 4, dtype=np.float32)
    plain.reset(seed=0)
    short.reset(seed=0)
    for threshold in np.array([0.0, 0.25, 0.5], dtype=np.float32):
        action = np.full((4, 1), threshold)
        wanted, rewards, *_, info = plain.step(action.astype(np.float64))
        observations, short_rewards, *_, short_info = short.step(action)
        assert observations.dtype == short.observation_space.dtype == short.action_space.dtype == np.float32
        np.testing.assert_array_equal(observations, wanted.astype(np.float32))
        np.testing.assert_array_equal(short_rewards, rewards)
        assert data_equivalence(short_info, info, exact=True)
        assert short.observation_space.contains(observations)


def test_the_ids_say_how_long_an_episode_is() -> None:
    assert gymnasium.spec("fairgate/Compas-v0").max_episode_steps == 3000
    env = gymnasium.make("fairgate/Compas-v0")
    assert env.spec is not None
    assert env.spec.max_episode_steps == 3000
    assert env.get_wrapper_attr("_loop").rounds == 3000


@pytest.mark.parametrize("options", [{"rounds": 4}, {"max_episode_steps": 4}, {"rounds": 4, "max_episode_steps": 4}])
def test_an_episode_is_truncated_once(options: dict[str, Any]) -> None:
    env = gymnasium.make("fairgate/Compas-v0", **options)
    many = gymnasium.make_vec("fairgate/Compas-v0", 2, **options)
    for _ in range(2):
        env.reset(seed=0)
        many.reset(seed=0)
        assert [bool(env.step(np.zeros(1))[3]) for _ in range(4)] == [False, False, False, True]
        ends = [many.step(np.zeros((2, 1)))[3].tolist() for _ in range(5)]
        assert ends == [[False, False]] * 3 + [[True, True], [False, False]]


@pytest.mark.slow
def test_an_episode_may_be_longer_than_the_ids_say(small_task: fg.Task) -> None:
    """gymnasium.make must be told as well, or else cuts it, which is said at the next reset."""

    def ends(env: gymnasium.Env[Any, Any]) -> list[int]:
        env.reset(seed=0)
        return [t for t in range(1, 3002) if env.step(np.zeros(1))[3]]

    settings: dict[str, Any] = {"task": small_task, "rounds": 3001}
    assert ends(gymnasium.make("fairgate/Compas-v0", max_episode_steps=3001, **settings)) == [3001]
    many = gymnasium.make_vec("fairgate/Compas-v0", 2, **settings)
    assert isinstance(many, FairgateVectorEnv)
    assert many.rounds == 3001
    cut = gymnasium.make("fairgate/Compas-v0", **settings)
    cut.reset(seed=0)
    assert [cut.step(np.zeros(1))[3] for _ in range(3000)][-1]
    with pytest.warns(UserWarning, match="cut after 3000 of its 3001 rounds.*pass it max_episode_steps=3001"):
        cut.reset()


def test_an_episode_is_shown_as_text() -> None:
    env = gymnasium.make("fairgate/Compas-v0", render_mode="ansi", per_group=True, rounds=9)
    env.reset(seed=0)
    assert env.render() == "compas: round 0 of 9"
    _, first, *_ = env.step(np.array([-1.0, -0.5]))
    _, second, *_, info = env.step(np.array([-1.0, -0.25]))
    text = str(env.render())
    assert text.startswith("compas: round 2 of 9, thresholds -1.000 -0.250, accepted ")
    assert f"cost {info['cost']:.3f}, reward {second:.3f}, mean reward {(float(first) + float(second)) / 2:.3f}" in text
    env.reset()
    assert env.render() == "compas: round 0 of 9"


def test_an_episode_is_shown_as_pictures(small_task: fg.Task) -> None:
    many = FairgateVectorEnv(small_task, 2, render_mode="rgb_array", rounds=50)
    many.reset(seed=0)
    many.step(np.array([[-2.0], [2.0]]))
    frames = many.render()
    assert frames is not None
    one, other = (np.asarray(frame) for frame in frames)
    assert one.shape == other.shape == (400, 600, 3)
    assert one.dtype == np.uint8
    assert (one != other).mean() > 0.01  # different thresholds and rates
    assert {tuple(pixel) for pixel in one.reshape(-1, 3)} >= {(255, 255, 255), (0, 0, 0)}
    assert FairgateVectorEnv(small_task, 2).render() is None
    assert ThresholdEnv(small_task).render() is None


def test_wrappers_of_gymnasium_work(small_task: fg.Task) -> None:
    env = gymnasium.wrappers.RescaleAction(ThresholdEnv(small_task), np.float64(-1.0), np.float64(1.0))
    env.reset(seed=0)
    np.testing.assert_allclose(env.step(np.array([0.5]))[-1]["thresholds"], 1.0)
    many = gymnasium.wrappers.vector.RecordEpisodeStatistics(gymnasium.make_vec("fairgate/Compas-v0", 5, rounds=4))
    many.reset(seed=0)
    returns = np.zeros(5)
    for _ in range(4):
        _, rewards, _, _, info = many.step(np.zeros((5, 1)))
        returns += rewards
    np.testing.assert_allclose(info["episode"]["r"], returns)
    listed = gymnasium.wrappers.vector.DictInfoToList(gymnasium.make_vec("fairgate/Compas-v0", 5))
    listed.reset(seed=0)
    infos = listed.step(np.zeros((5, 1)))[-1]
    assert len(infos) == 5
    assert set(infos[0]["batch_residuals"]) == {"parity", "service-low", "service-high"}


def test_a_spec_can_be_written_and_read() -> None:
    env = gymnasium.make("fairgate/Compas-v0", discrete=True, rounds=5)
    assert env.spec is not None
    again = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert json.loads(env.spec.to_json())["kwargs"] == {"task": "compas", "discrete": True, "rounds": 5}
    assert again.action_space == env.action_space


BAD_SETTINGS: list[tuple[Any, dict[str, Any], str]] = [
    ("compass", {}, "unknown task 'compass': did you mean 'compas'"),
    (3, {}, "task must be a Task or the name of one, got 3"),
    ("compas", {"rounds": 0}, "rounds must be a whole number of at least 1, got 0"),
    ("compas", {"batch": 0}, "batch must be a whole number of at least 1, got 0"),
    ("compas", {"penalty": -1.0}, "penalty must be a finite number of at least 0, got -1.0"),
    ("compas", {"penalty": np.nan}, "penalty must be finite, got nan"),
    ("compas", {"penalty": "much"}, "penalty must be numbers, got 'much'"),
    ("compas", {"dtype": "float16"}, 'dtype must be "float32" or "float64", got \'float16\''),
    ("compas", {"dtype": "short"}, 'dtype must be "float32" or "float64", got \'short\''),
    ("compas", {"dtype": "double trouble"}, 'dtype must be "float32" or "float64", got \'double trouble\''),
    ("compas", {"normalise": True, "discrete": True}, "normalise must be False where discrete is True"),
    ("compas", {"render_mode": "human"}, "render_mode must be one of rgb_array, ansi or None, got 'human'"),
]


@pytest.mark.parametrize(("task", "settings", "sentence"), BAD_SETTINGS)
def test_bad_settings_are_named(task: Any, settings: dict[str, Any], sentence: str) -> None:
    makers: list[Callable[..., Any]] = [ThresholdEnv, FairgateVectorEnv]
    for make in makers:
        with pytest.raises(fg.InputError, match=sentence):
            make(task, **settings)


def test_names_of_residuals_must_differ(gaussian: fg.environments.GaussianScores) -> None:
    problem = fg.Problem(fg.Utility(1.0), [fg.Budget(0.5), fg.Budget(0.6)])
    with pytest.raises(fg.InputError, match="different names to tell them apart, got budget, budget"):
        fg.Task(gaussian, problem, [0.0, 1.0])


def test_a_bad_number_of_loops_is_named() -> None:
    with pytest.raises(fg.InputError, match="num_envs must be a whole number of at least 1, got 0"):
        FairgateVectorEnv("compas", 0)


@pytest.mark.parametrize(
    ("options", "action", "sentence"),
    [
        ({}, np.array([np.nan]), "action must be finite, got nan at position 0"),
        ({}, np.array([-np.inf]), "action must be finite, got -inf at position 0"),
        ({}, np.zeros(2), r"action must have shape \(1,\), got \(2,\)"),
        ({}, 0.0, r"action must be a non-empty array of 1 axes, got shape \(\)"),
        ({}, ["high"], "action must be numbers"),
        ({"discrete": True}, 9, "action must be a whole number from 0 to 8, .* got 9"),
        ({"discrete": True}, -1, "action must be a whole number from 0 to 8, .* got -1"),
        ({"discrete": True}, 0.5, "action must be a whole number from 0 to 8, .* got 0.5"),
        ({"discrete": True}, np.nan, "action must be finite, got nan"),
    ],
)
def test_bad_actions_are_named(small_task: fg.Task, options: dict[str, Any], action: Any, sentence: str) -> None:
    env = ThresholdEnv(small_task, **options)
    env.reset(seed=0)
    before = env.np_random.bit_generator.state
    with pytest.raises(fg.InputError, match=sentence):
        env.step(action)
    assert env.np_random.bit_generator.state == before


def test_bad_options_of_a_reset_are_named(small_task: fg.Task) -> None:
    with pytest.raises(fg.InputError, match="options must be empty"):
        FairgateVectorEnv(small_task, 2).reset(options={"reset_mask": np.array([True, False])})


def kept(info: dict[str, Any]) -> Any:
    """Exact reward minus violation."""
    return info["population_reward"] - info["population_cost"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "policy",
    [lambda seed: bandit.UCB(delta=0.05, seed=seed), lambda seed: bandit.EpsilonGreedy(0.1, decay=0.005, seed=seed)],
    ids=["UCB", "EpsilonGreedy"],
)
def test_bandits_of_river_beat_random_thresholds(policy: Callable[[int], Any]) -> None:
    """Means over 500 rounds of eight loops each: 6 standard errors of their difference apart."""
    learnt = []
    for seed in range(8):
        chooser, env, truncated, total = policy(seed), ThresholdEnv("interior", discrete=True, rounds=500), False, 0.0
        env.reset(seed=seed)
        while not truncated:
            arm = chooser.pull(range(41))
            _, reward, _, truncated, info = env.step(arm)
            chooser.update(arm, reward)
            total += kept(info) / 500
        learnt.append(total)
    many, rng = FairgateVectorEnv("interior", 8, discrete=True), np.random.default_rng(0)
    many.reset(seed=99)
    random = np.mean([kept(many.step(rng.integers(41, size=8))[-1]) for _ in range(500)], axis=0)
    error = np.sqrt((np.var(learnt, ddof=1) + np.var(random, ddof=1)) / 8)
    assert np.mean(learnt) - np.mean(random) > max(0.1, 6 * error)


@pytest.mark.slow
@pytest.mark.parametrize(
    "program",
    [
        "import fairgate, gymnasium; gymnasium.make('fairgate/Compas-v0').reset(seed=0)",
        "import gymnasium; gymnasium.make('fairgate:fairgate/German-v0').reset(seed=0)",
        "import sys; sys.modules['gymnasium'] = None; import fairgate; fairgate.load_task('german')",
    ],
)
def test_importing_the_package_registers_the_tasks_and_does_without_gymnasium(program: str) -> None:
    result = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
