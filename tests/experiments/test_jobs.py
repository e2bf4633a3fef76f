"""Jobs: what is done is not done again, what is cut short is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairgate as fg
from fairgate.engines import InProcess
from fairgate.experiments import jobs as module
from fairgate.experiments.jobs import Job
from fairgate.experiments.plan import Context, Plan, stress_settings, stressed_task, tuning_grid
from fairgate.store import Work
from fairgate.store import complete as complete_work


@pytest.fixture
def job(small_task: fg.Task) -> Job:
    return Job("small-ofs", small_task, fg.OFS(), rounds=50, seeds=3, seed=0, tail=20, raw=3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "runs"


def complete(jobs: list[Job], folder: Path, say: Callable[[str], None] = print) -> None:
    complete_work(folder, [job.work() for job in jobs], InProcess(), say)


@pytest.fixture
def performed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the jobs that were really run."""
    names: list[str] = []
    real = module.Job.work

    def noted(job: Job) -> Work:
        work = real(job)

        def make() -> Any:
            names.append(job.name)
            return work.make()

        return replace(work, make=make)

    monkeypatch.setattr(module.Job, "work", noted)
    return names


def test_a_job_gives_what_simulate_gives(job: Job, folder: Path) -> None:
    summary = replace(job, name="summary", raw=0)
    complete([job, summary], folder)
    run = fg.simulate(job.task, job.learner, 50, 3, seed=0)
    np.testing.assert_array_equal(Context(Plan(), folder).load(job).thresholds, run.thresholds)
    for name, values in run.per_replicate(20).items():
        np.testing.assert_allclose(Context(Plan(), folder).figures(job)[name], values)
        np.testing.assert_allclose(Context(Plan(), folder).figures(summary)[name], values)
    np.testing.assert_allclose(
        Context(Plan(), folder).figures(job)["batch_residual_1"], run.batch.residuals[1][:, -20:].mean(axis=1)
    )


def test_done_jobs_are_not_run_again(job: Job, folder: Path, performed: list[str]) -> None:
    said: list[str] = []
    complete([job], folder, said.append)
    complete([job, replace(job, name="other", seed=5)], folder, said.append)
    assert performed == ["small-ofs", "other"]
    assert said == ["1 of 2 simulations are done already"]


def test_other_settings_or_other_code_are_run_again(
    job: Job, folder: Path, performed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    complete([job], folder)
    complete([replace(job, learner=fg.OFS(c=0.1))], folder)
    monkeypatch.setattr(module, "code_digest", lambda *makers: "other code")
    complete([replace(job, learner=fg.OFS(c=0.1))], folder)
    assert len(performed) == 3


def test_another_tail_makes_summaries_again_but_not_raw_runs(job: Job, folder: Path, performed: list[str]) -> None:
    jobs = [job, replace(job, name="summary", raw=0)]
    complete(jobs, folder)
    longer = [replace(each, tail=40) for each in jobs]
    complete(longer, folder)
    assert sorted(performed) == ["small-ofs", "summary", "summary"]
    np.testing.assert_allclose(
        Context(Plan(), folder).figures(longer[1])["reward"], Context(Plan(), folder).figures(longer[0])["reward"]
    )


def test_a_file_cut_short_is_made_again_and_said(job: Job, folder: Path, performed: list[str]) -> None:
    said: list[str] = []
    complete([job], folder, said.append)
    path = folder / job.file
    path.write_bytes(path.read_bytes()[:500])
    complete([job], folder, said.append)
    assert performed == ["small-ofs"] * 2
    assert any("small-ofs.parquet is not what was written there: it is made again" in line for line in said)
    assert Context(Plan(), folder).load(job).rounds == 50


def test_an_unreadable_index_costs_only_time(job: Job, folder: Path, performed: list[str]) -> None:
    complete([job], folder)
    (folder / "index.jsonl").write_text('["small-ofs", "cut sho')
    complete([job], folder)
    assert performed == ["small-ofs"] * 2


def test_gradient_learners_settle_at_their_centre_and_ofs_at_its_median_play(small_task: fg.Task) -> None:
    gradient = fg.simulate(small_task, fg.BanditGradient(), 50, 3)
    np.testing.assert_allclose(module.settled(gradient, 20), gradient.traces["centre"][:, -20:].mean(axis=1))
    grid = fg.simulate(small_task, fg.OFS(), 50, 3)
    np.testing.assert_allclose(module.settled(grid, 20), np.median(grid.thresholds[:, -20:, 0], axis=1))


@pytest.mark.parametrize("name", ["mve-s", "german", "compas"])
def test_each_stress_setting_changes_one_number(name: str) -> None:
    base, stressed = fg.load_task(name), stressed_task(fg.load_task(name), seeds=2)
    assert stressed.replicates == 18
    for index, (varied, factor) in enumerate(stress_settings()):
        row = stressed.rows(slice(2 * index, 2 * index + 1))
        for part, setting, name_of in (
            (0, "false_positive_cost", "cost"),
            (1, "epsilon", "tolerance"),
        ):
            ours, theirs = (getattr((p.utility, p.constraints[0])[part], setting) for p in (row.problem, base.problem))
            assert np.asarray(ours)[0] == pytest.approx(theirs * (factor if varied == name_of else 1.0))
        reach = [
            float(np.ptp(environment.steady_state(np.array([[-50.0] * 2, [50.0] * 2]))[:, 0]))
            for environment in (row.environment, base.environment)
        ]
        assert reach[0] == pytest.approx(reach[1] * (factor if varied == "feedback" else 1), abs=0.05)


def test_the_plan_names_every_job_once() -> None:
    from fairgate.experiments.reproduce import JOBS
    from fairgate.experiments.variants import VARIANTS

    plan = Plan(rounds=200, seeds=2, many=3)
    found = [job for jobs in JOBS.values() for job in jobs(plan)]
    names = {job.name for job in found}
    assert len(names) == len({(job.name, job.digest()) for job in found})
    assert len(names) == 15 + 9 + 2 + 9 * 9 + 2 * 16 + 18 + len(VARIANTS)


def test_many_seeds_and_the_first_ones_whole_are_one_simulation(job: Job, folder: Path, performed: list[str]) -> None:
    both = replace(job, seeds=5)
    complete([both], folder)
    assert performed == ["small-ofs"]
    run = fg.simulate(job.task, job.learner, 50, 5, seed=0)
    context = Context(Plan(seeds=2, many=5), folder)
    np.testing.assert_array_equal(context.load(both).counts, run.counts[:3])
    np.testing.assert_array_equal(context.load(both).batch.residuals, run.batch.residuals[:, :3])
    reward = run.per_replicate(20)["reward"]
    np.testing.assert_allclose(context.figures(both)["reward"], reward)
    np.testing.assert_allclose(context.figures(replace(both, first=2))["reward"], reward[:2])
    np.testing.assert_allclose(context.sets(both)["reward"], [reward[:2].mean(), reward[2:4].mean()])
    (folder / "small-ofs-5-seeds.parquet").unlink()
    complete([both], folder)
    assert performed == ["small-ofs"] * 2


def test_every_setting_meets_the_people_of_the_main_runs(folder: Path) -> None:
    """The tuning grid's line at the setting of Table I is Table I's, and many seeds begin with the first ones."""
    plan = Plan(rounds=60, seeds=2, many=4, tail=20)
    jobs = [plan.job("german", "primal-dual"), plan.tuning("german"), *plan.tuning_many("german")[:2]]
    jobs += [plan.stress("german", "ofs"), *plan.stress_many("german", "ofs")[:2]]
    complete(jobs, folder)
    main, grid, *several, stress, first, second = (Context(plan, folder).figures(job) for job in jobs)
    place = 2 * tuning_grid().index((0.03, 0.1))
    for name in ("reward", "gap", "violation", "settled"):
        np.testing.assert_array_equal(grid[name][place : place + 2], main[name])
        np.testing.assert_array_equal(grid[name][:4], np.concatenate([each[name][:2] for each in several]))
        np.testing.assert_array_equal(stress[name][:4], np.concatenate([first[name][:2], second[name][:2]]))
