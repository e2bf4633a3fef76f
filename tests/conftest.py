"""Shared small worlds."""

from __future__ import annotations

import os
from collections.abc import Iterator

# Every worker, and every process it starts, has a core of its own: more threads only wait for each other, and the
# linear algebra of a test then takes up to fifty times as long. Before NumPy is imported, which reads it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings

import fairgate as fg
from tests.browser import Browser, chromium

# Speed is judged in benchmarks/, not by single tests; `--hypothesis-profile=explore` tries examples as yet untried.
settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile("same")

SLOW = {
    "test_runs_are_as_recorded",
    # tests/advice
    "test_bad_input_is_one_sentence_and_exit_code_2",
    "test_5000_people_are_enough_for_a_feasible_threshold_within_a_hundredth_of_the_best",
    "test_sure_is_as_sure_as_it_says_also_where_the_gap_looks_small",
    "test_intervals_of_reward_gap_and_rates_cover_the_truth",
    "test_a_million_rows_are_counted_exactly_in_little_memory",
    "test_any_file_gets_advice_or_one_sentence",
    "test_any_file_of_a_newer_kind_gets_advice_or_one_sentence",
    "test_any_frame_gets_advice_or_one_sentence",
    "test_the_example_works_from_beginning_to_end",
    "test_census_income_as_it_comes",
    "test_the_page_opens_by_itself_and_fits",
    "test_an_interruption_leaves_no_half_report",
    "test_labels_missing_at_random_are_filled_in_without_bias",
    "test_a_folder_in_the_place_of_a_file_is_one_sentence_and_leaves_nothing_half",
    "test_options_win_over_the_policy_file",
    "test_college_admission_by_sat_where_no_threshold_will_do",
    "test_loan_applications_by_race_in_parquet",
    "test_a_debt_ratio_with_ties_that_is_worse_the_higher_and_sexes_that_are_missing",
    "test_help_tells_an_example",
    "test_a_group_accepted_at_the_present_rate_stays_as_it_is",
    "test_json_the_report_and_python_say_the_same",
    "test_the_classifier_finds_the_best_threshold_for_loans",
    # tests/bench
    "test_an_interrupted_benchmark_goes_on_where_it_stopped",
    "test_learners_of_the_current_folder_join_and_one_that_fails_is_said",
    "test_two_processes_find_what_one_finds",
    "test_a_folder_one_cannot_write_to_is_one_sentence_and_exit_code_2",
    "test_the_page_is_readable_at_any_width",
    # tests/classifier
    "test_the_curve_is_what_predicting_at_each_threshold_gives_by_fairlearns_metrics",
    "test_folds_in_parallel_come_to_the_same",
    # tests/environments
    "test_the_tables_agree_with_the_quadrature",
    "test_probabilities_sum_to_one_and_acceptance_falls_with_the_threshold",
    # tests/experiments
    "test_two_runs_give_identical_bytes_and_a_third_does_nothing",
    "test_an_interrupted_reproduction_goes_on_where_it_stopped",
    "test_a_figure_is_a_page_wide_has_one_legend_and_is_the_same_twice",
    "test_parts_can_be_named",
    "test_trials_are_the_runs_they_say",
    "test_long_parts_are_run_by_name_only",
    "test_the_plan_names_every_job_once",
    "test_every_rival_meets_every_task_with_twice_the_seeds",
    "test_over_many_roots_each_set_selects_and_wins_for_itself",
    "test_no_finding_has_twin_axes_or_anything_beyond_its_edge",
    "test_text_stands_out_from_its_background",
    "test_the_page_asks_for_nothing_but_itself_and_has_no_errors",
    # tests/learners
    "test_it_settles_on_the_oracle_and_hardly_ever_violates",
    "test_it_earns_what_the_best_pair_of_the_grid_earns",
    "test_infeasibility_is_never_stated_where_a_threshold_is_feasible",
    "test_the_bounds_miss_and_the_best_is_excluded_in_at_most_delta_of_the_runs",
    "test_it_comes_near_the_best_lottery_where_no_threshold_is_feasible",
    "test_the_expected_bias_of_a_visit_is_at_most_b",
    "test_with_hardly_any_noise_the_best_threshold_is_found",
    "test_it_follows_a_drift_better_than_a_forecast_of_the_long_run",
    "test_main_and_strict_constraints_give_identical_plays",
    "test_the_best_threshold_of_interior_is_found_and_kept",
    "test_it_is_feasible_where_no_pair_of_the_grid_is",
    "test_what_is_lost_lies_below_what_is_proved",
    "test_constraints_on_labels_are_met_by_estimating_those_of_the_rejected",
    "test_the_average_of_a_visit_is_within_the_radius",
    "test_it_is_no_worse_than_the_best_threshold",
    "test_exp3_prefers_what_pays",
    "test_it_plays_what_a_plain_reading_of_its_rule_plays",
    "test_the_noise_of_a_visit_is_at_most_sigma",
    "test_a_users_own_reward_and_constraint_are_judged_by_the_means_of_batches",
    "test_it_gets_over_a_shock_within_a_hundred_rounds",
    "test_infeasibility_is_stated_in_every_loop_where_no_threshold_is_feasible",
    "test_two_point_climbs_to_where_the_constraint_binds",
    "test_problems_may_differ_by_replicate",
    "test_other_constraints_will_do",
    "test_six_groups_are_no_harder",
    "test_it_recommends_plain_thresholds_near_the_best_pair",
    "test_it_earns_more_than_any_shared_threshold",
    # by what they took with the whole suite on two busy cores
    "test_ofs_is_near_the_papers",
    "test_late_labels_make_the_reward_late",
    "test_gamed_thresholds_are_noticed_as_misfit",
    "test_it_holds_the_rates_though_the_state_fluctuates",
    "test_constraints_with_and_without_bounds_of_their_own_go_together",
    "test_a_preset_number_makes_stale_the_jobs_of_its_task",
    "test_a_reader_is_named_on_the_command_line",
    "test_a_search_over_cost_and_over_the_estimators_own_settings",
    "test_after_a_shock_it_resets_or_corrects_itself",
    "test_command_line_and_policy_file",
    "test_constraints_hold_on_new_people",
    "test_delayed_labels_count_for_the_epoch_that_accepted_those_people",
    "test_every_learner_keeps_the_contract",
    "test_every_page_is_there",
    "test_everything_is_written",
    "test_gaps_are_rarely_ever_missed",
    "test_groups_reach_it_through_pipeline_and_grid_search",
    "test_help_tells_the_commands_and_an_example",
    "test_it_follows_a_drift_by_correcting_its_predictions",
    "test_it_keeps_the_contract",
    "test_it_notices_misfit_where_scores_respond_to_the_threshold_itself",
    "test_it_notices_that_people_have_changed_and_resets",
    "test_it_runs_where_nothing_is_promised",
    "test_list_names_every_task_and_learner",
    "test_loops_are_as_spread_out_as_single_ones",
    "test_on_compas_the_feasible_set_stays_empty_and_one_threshold_is_locked_in",
    "test_reproduce_writes_its_parts_and_says_when_nothing_has_changed",
    "test_run_in_json_says_what_python_says",
    "test_sure_is_never_contradicted_by_the_figures_beside_it",
    "test_scikit_learn_finds_no_fault",
    "test_settings_may_vary_by_replicate_and_are_checked",
    "test_the_main_verdicts_hold_at_full_size",
    "test_the_shares_of_a_batch_add_up_to_its_reward",
    "test_they_are_benchmarked_on_the_command_line_and_kept",
    "test_they_run_on_the_command_line",
    "test_what_is_no_task_is_one_sentence_and_exit_code_2",
    "test_words_the_program_does_not_know_are_exit_code_2",
    "test_what_was_played_may_be_something_else",
    "test_nobody_in_some_replicates_changes_nothing_there",
    "test_late_labels_break_nothing",
    "test_more_seeds_and_rounds_begin_with_the_same",
    "test_a_paired_difference_has_little_of_the_unpaired_variance",
}
"""Tests of a second or more, by name, so that moving a file does not lose them; elsewhere they are marked in place."""

SLOW_EXAMPLES = {
    "DoublyOptimistic",
    "Exp3PrimalDual",
    "TwoPoint",
    "EpochZerothOrder",
    "PerformativeGradient",
    "RepeatedRetraining",
    "Bayesian",
    "operator.md",
    "researcher.md",
    "start.md",
    "baselines.md",
    "your-data.md",
    "audit.md",
    "monitor.md",
    "feedback.md",
    "bench.md",
    "sklearn.md",
    "related.md",
    "per-group.md",
    "mixture.md",
    "repeated-retraining.md",
    "smooth-optimist.md",
    "safe-search.md",
}
"""Classes, and pages of docs/, whose examples take a second or more."""

SLOW_FIXTURES = {"whole", "site"}
"""What takes seconds to make: a whole reproduction, the documentation."""


LONGEST = ("test_golden.py", "test_reproduce.py")
"""Modules that take more than half a minute."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow; `make quick` leaves it out. Long modules come first, so that no worker ends much later."""
    for item in items:
        if isinstance(item, pytest.Function):
            slow = item.originalname in SLOW or not SLOW_FIXTURES.isdisjoint(item.fixturenames)
        else:
            slow = not SLOW_EXAMPLES.isdisjoint((item.name, item.name.rpartition(".")[2]))
        if slow:
            item.add_marker(pytest.mark.slow)
    long = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.path.name not in LONGEST, item.path not in long))


@pytest.fixture(scope="session")
def running_browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def browser(running_browser: Browser) -> Iterator[Browser]:
    """One Chromium for all modules; each closes its pages."""
    yield running_browser
    running_browser.close_pages()


@pytest.fixture
def gaussian() -> fg.environments.GaussianScores:
    return fg.environments.GaussianScores(
        means=[-0.2, 0.3], shares=[0.4, 0.6], sd=[1.0, 0.7], slope=2.5, midpoint=0.1, gain=0.5, rate=0.1
    )


@pytest.fixture
def pools() -> fg.environments.ScorePools:
    """People with tied scores and unequal groups."""
    rng = np.random.default_rng(7)
    groups = (rng.random(300) < 0.7).astype(int)
    scores = np.round(rng.normal(0.3 * groups, 1.0), 1)
    labels = (rng.random(300) < 1 / (1 + np.exp(-1.5 * scores))).astype(int)
    return fg.environments.ScorePools(scores, labels, groups, split=0.4, floor=0.1, ceiling=0.9, rate=0.1)


@pytest.fixture
def problem() -> fg.Problem:
    return fg.Problem(fg.Utility(1.5), [fg.DemographicParity(0.2), fg.ServiceRate(0.3, 0.9)])


@pytest.fixture
def small_task(gaussian: fg.environments.GaussianScores, problem: fg.Problem) -> fg.Task:
    return fg.Task(gaussian, problem, np.linspace(-2, 2, 9), "small")
