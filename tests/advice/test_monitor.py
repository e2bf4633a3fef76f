"""``fairgate monitor``: what has drifted since an advice, with a false-alarm rate over all months."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest
from scipy.special import expit
from scipy.stats import binom, fisher_exact, norm

import fairgate as fg
from fairgate.advice.drift import calibration_moved, compare, joined, rates_moved, scores_moved
from fairgate.advice.monitor import judge, look
from fairgate.advice.newcomers import Newcomers, read_newcomers
from fairgate.advice.reference import Reference, read_reference
from fairgate.advice.report.monitoring import drift_text, headline
from fairgate.advice.report.output import FORMAT, write
from fairgate.confidence import clopper_pearson
from fairgate.constraints import Constraint
from fairgate.people.sources import frame_source
from tests.command import fairgate_here

SURE = 0.9


def people(size: int, rng: np.random.Generator, *, shift: float = 0.0, midpoint: float = 0.0) -> pa.Table:
    """Scores N(0, 1) in two groups, those of the first lower by `shift`; P(repaid) = sigmoid(2 (s − midpoint))."""
    female = rng.random(size) < 0.4
    score = rng.normal(-shift * female, 1.0)
    repaid = rng.random(size) < expit(2.0 * (score - midpoint))
    return pa.table({"score": score.round(3), "repaid": repaid.astype(int), "sex": np.where(female, "f", "m")})


@pytest.fixture(scope="module")
def advised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("monitored") / "advice"
    table = people(4000, np.random.default_rng(1))
    aims = fg.Aims(
        constraints=[fg.DemographicParity(0.1), fg.ServiceRate(0.2, 0.8)], seeds=1, rounds=5, feedback=(0.0,), sure=SURE
    )
    write(fg.advise(fg.from_frame(table, score="score", label="repaid", group="sex"), aims), folder, "people")
    return folder


@pytest.fixture
def advice(advised: Path, tmp_path: Path) -> Path:
    for name in ("report.json", "reference.json"):
        (tmp_path / "advice").mkdir(exist_ok=True)
        (tmp_path / "advice" / name).write_bytes((advised / name).read_bytes())
    return tmp_path / "advice"


def test_the_reference_has_everybody_in_few_bins_and_one_begins_at_the_threshold(advice: Path) -> None:
    found = read_reference(advice, FORMAT)
    assert found.groups == ("f", "m")
    assert sum(each.sum() for each in found.counts) == 4000
    for cuts, counts in zip(found.cuts, found.counts, strict=True):
        assert len(cuts) == len(counts) <= 64
        assert found.at in cuts
    table = people(4000, np.random.default_rng(1))
    again = read_newcomers(frame_source(table), found)
    for old, new in zip(found.counts, again.counts, strict=True):
        np.testing.assert_array_equal(old, new)
    accepted = table["score"].to_numpy() >= found.threshold
    assert again.accepted.sum() == accepted.sum()


def test_the_same_people_have_not_drifted_and_are_one_look(advice: Path) -> None:
    first = fg.monitor(people(1500, np.random.default_rng(2)), advice)
    assert (first.look, first.broken, any(first.drifted)) == (1, [], False)
    again = fg.monitor(people(1500, np.random.default_rng(2)), advice)
    assert again.look == 1
    assert fg.monitor(people(1500, np.random.default_rng(3)), advice).look == 2
    log = json.loads((advice / "monitor.json").read_text(encoding="utf-8"))
    assert [each["look"] for each in log["looks"]] == [1, 2]


def test_labels_that_come_later_belong_to_the_same_look(advice: Path) -> None:
    """People are counted once: the look with labels takes the place of the one without, and nothing is lost after."""
    march, april = people(1500, np.random.default_rng(2)), people(1200, np.random.default_rng(3))
    assert fg.monitor(march.drop_columns(["repaid"]), advice).look == 1
    assert fg.monitor(april.drop_columns(["repaid"]), advice).look == 2
    found = fg.monitor(march, advice)
    assert (found.look, found.newcomers.labelled) == (1, True)
    for again in (march.drop_columns(["repaid"]), march):  # fewer labels than are known, and the same ones
        kept = (advice / "monitor.json").read_bytes()
        assert fg.monitor(again, advice).look == 1
        assert (advice / "monitor.json").read_bytes() == kept
    log = json.loads((advice / "monitor.json").read_text(encoding="utf-8"))["looks"]
    assert [(each["look"], each["people"]) for each in log] == [(1, 1500), (2, 1200)]
    assert sum(log[0]["cells"]["people"][3:]) == 1500
    assert sum(log[1]["cells"]["people"][3:]) == 0


def test_labels_that_come_later_take_nothing_back_and_cost_nothing(advice: Path) -> None:
    """Tests of labels have their part of the look's level before there are any, so that one look is one family."""
    for shift in (0.0, 0.15, 0.25, 0.4):
        table = people(1500, np.random.default_rng(5), shift=shift)
        without = fg.monitor(table.drop_columns(["repaid"]), advice)
        with_labels = fg.monitor(table, advice)
        told = [
            {(each.kind, each.group) for each, drifted in zip(found.drifts, found.drifted, strict=True) if drifted}
            for found in (without, with_labels)
        ]
        assert told[0] <= told[1]


@pytest.fixture(scope="module")
def by_risk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An advice on a score of which a high one is bad."""
    folder = tmp_path_factory.mktemp("descending") / "advice"
    aims = fg.Aims(constraints=[fg.ServiceRate(0.2, 0.8)], feedback=(0.0,))
    found = fg.from_frame(risky(3000, 0), score="risk", label="repaid", group="black", descending=True)
    write(fg.advise(found, aims), folder, "people")
    return folder


def risky(size: int, seed: int, shift: float = 0.0) -> pa.Table:
    rng = np.random.default_rng(seed)
    risk = rng.normal(shift, 1.0, size)
    repaid = rng.random(size) < expit(-2.0 * (risk - shift))
    black = np.where(rng.random(size) < 0.4, "yes", "no")
    return pa.table({"risk": risk.round(3), "repaid": repaid.astype(int), "black": black})


def test_drift_is_told_in_the_scores_of_the_table(by_risk: Path) -> None:
    """Risks rise by half a standard deviation: about 69% lie above the old median, whichever way is good."""
    old, new = risky(3000, 0), risky(4000, 1, shift=0.5)
    for each in fg.monitor(new, by_risk).drifts:
        if each.kind == "scores":
            risks = [
                table.filter(pa.compute.equal(table["black"], each.group))["risk"].to_numpy() for table in (old, new)
            ]
            assert each.then == pytest.approx(0.5, abs=0.02)  # a bin has one part in 64
            assert each.now == pytest.approx((risks[1] > np.median(risks[0])).mean(), abs=0.02)
            assert (each.now or 0.0) > 0.6
        if each.kind == "acceptance":
            assert each.change is not None
            assert each.change < 0.0


def test_groups_are_called_by_their_column(by_risk: Path) -> None:
    only = risky(600, 2)
    only = only.filter(pa.compute.equal(only["black"], "no"))
    document = fg.monitor(only, by_risk).document()
    assert document["drift"][0]["text"].startswith("black = no, scores: ")
    assert {each["called"] for each in document["drift"]} == {"black = no", "black = yes"}


def test_groups_that_the_advice_does_not_know_count_as_lost(advice: Path) -> None:
    table = people(1000, np.random.default_rng(6))
    sex = ["mal" if each == "m" else each for each in table["sex"].to_pylist()]
    table = table.set_column(2, "sex", pa.array(sex))
    share = sex.count("mal")
    with pytest.raises(fg.InputError) as caught:
        fg.monitor(table, advice)
    told = str(caught.value)
    assert f"{share} of 1000 rows would be left out, more than a share of 0.2" in told
    assert f"groups ('sex') that the advice does not know, 'mal' ({share}), while it knows 'f', 'm'" in told
    assert not (advice / "monitor.json").exists()
    assert fg.monitor(table, advice, max_lost=0.7).newcomers.strangers == {"mal": share}


def test_what_drifted_is_told_and_what_did_not_is_not(advice: Path) -> None:
    found = fg.monitor(people(3000, np.random.default_rng(4), shift=0.7, midpoint=0.5), advice)
    told = {(each.kind, each.group) for each, drifted in zip(found.drifts, found.drifted, strict=True) if drifted}
    assert told == {("scores", "f"), ("acceptance", "f"), ("calibration", "f"), ("calibration", "m")}
    assert "show drift: scores, acceptance, calibration of sex = f and calibration of sex = m." in headline(found)
    assert [each.name for each in found.broken] == ["parity"]
    by = {(each.kind, each.group): each for each in found.drifts}
    psi, chance = by["scores", "f"].psi, by["scores", "m"].by_chance
    assert psi is not None
    assert chance is not None
    assert psi > 0.25 > 0.1 > chance


def test_a_look_is_judged_alone_so_that_years_of_good_months_hide_nothing(advice: Path) -> None:
    for month in range(6):
        assert not fg.monitor(people(2000, np.random.default_rng(10 + month)), advice).broken
    found = fg.monitor(people(2000, np.random.default_rng(20), shift=1.0), advice)
    (check,) = found.broken
    assert check.now == "broken" != check.since


def test_small_months_add_up(advice: Path) -> None:
    checks = []
    for month in range(20):
        found = fg.monitor(people(250, np.random.default_rng(30 + month), shift=0.55), advice)
        checks.append(next(each for each in found.checks if each.name == "parity"))
    assert checks[0].now == checks[0].since == "undecided"
    assert checks[-1].since == "broken"
    assert checks[-1].now == "undecided"


def test_a_new_advice_begins_a_new_log(advice: Path) -> None:
    fg.monitor(people(1500, np.random.default_rng(2)), advice)
    found = json.loads((advice / "reference.json").read_text(encoding="utf-8"))
    (advice / "reference.json").write_text(json.dumps(found | {"sure": 0.95}), encoding="utf-8")
    assert fg.monitor(people(1500, np.random.default_rng(3)), advice).look == 1
    assert len(list(advice.glob("monitor-*.json"))) == 1


def followed(constraint: Constraint, months: list[list[list[list[int]]]]) -> list[tuple[str, str]]:
    """Judge months of people by group, decision and label (G, 2, 3): what is said of each, alone and since."""
    before: list[dict[str, list[float]]] = []
    said = []
    for month in months:
        cells = np.array(month, dtype=float)
        new = Newcomers(list(cells), cells[:, 1], {}, {}, True, {})
        (check,) = judge([constraint], new, before, 0.1)
        said.append((check.now, check.since))
        accepted, came = new.cells
        before.append({"accepted": accepted.tolist(), "people": came.tolist()})
    return said


def test_months_in_which_only_the_accepted_have_labels_count_for_nothing() -> None:
    """Half of the good are accepted in both groups; in the first month nothing is known of the rejected."""
    selective = [[[0, 0, 4000], [2000, 2000, 0]], [[0, 0, 250], [125, 125, 0]]]
    full = [[[250, 250, 0], [250, 250, 0]]] * 2
    said = followed(fg.EqualOpportunity(0.1), [selective, *[full] * 8])
    assert said[0] == ("not identified", "not identified")
    assert {since for _, since in said[1:]} <= {"undecided", "met"}
    assert said[-1][1] == "met"
    assert followed(fg.EqualOpportunity(0.1), [full] * 8 + [selective])[-1] == ("not identified", "met")


def test_a_mix_of_groups_that_changes_with_the_rate_is_no_gap() -> None:
    """Both groups have the same rate in every month, 0.6 then 0.4, and one comes early, the other late."""
    early = [[[0, 0, 1200], [0, 0, 1800]], [[0, 0, 400], [0, 0, 600]]]
    late = [[[0, 0, 600], [0, 0, 400]], [[0, 0, 1800], [0, 0, 1200]]]
    said = followed(fg.DemographicParity(0.05), [early] * 12 + [late] * 12)
    assert said[-1][1] == "met"
    assert "broken" not in {since for _, since in said}
    gone = [[[0, 0, 0], [0, 0, 0]]]  # a third group of which nobody comes takes nothing from the others
    apart = [[[0, 0, 1500], [0, 0, 1500]], [[0, 0, 800], [0, 0, 1200]]]
    assert followed(fg.DemographicParity(0.05), [apart + gone] * 12)[-1][1] == "broken"
    worse = [[[0, 0, 1500], [0, 0, 1500]], [[0, 0, 400], [0, 0, 600]]]  # 0.5 and 0.6
    assert followed(fg.DemographicParity(0.05), [worse] * 12 + [late] * 2)[-1][1] == "broken"


@pytest.mark.slow
def test_over_twelve_months_without_change_alarms_are_as_rare_as_is_said(advice: Path) -> None:
    """Rates at the very limit of parity, and people like those of the advice; both families at 1 − sure = 10%."""
    runs, rng, reference = 40, np.random.default_rng(40), read_reference(advice, FORMAT)
    drifted = broken = 0
    limit: list[Constraint] = [fg.DemographicParity(0.1)]
    for _ in range(runs):
        old = [rng.multinomial(1000, each.ravel() / each.sum()).reshape(each.shape) for each in reference.counts]
        world = Reference(**{**vars(reference), "counts": [each.astype(float) for each in old]})
        looks: list[dict[str, list[float]]] = []
        any_drift = any_broken = False
        for _ in range(12):
            drawn = [rng.multinomial(300, each.ravel() / each.sum()).reshape(-1, 3) for each in reference.counts]
            new = Newcomers([each.astype(float) for each in drawn], np.zeros((2, 3)), {}, {}, True, {})
            any_drift |= any(look(world, new, "", looks).drifted)
            taken = np.array([[0.0, 0.0, rng.binomial(300, rate)] for rate in (0.4, 0.5)])
            edge = Newcomers([np.array([[0.0, 0.0, 300.0]])] * 2, taken, {}, {}, False, {})
            any_broken |= any(each.is_broken for each in judge(limit, edge, looks, 1.0 - SURE))
            accepted, came = edge.cells
            looks.append({"accepted": accepted.tolist(), "people": came.tolist()})
        drifted, broken = drifted + any_drift, broken + any_broken
    allowed = binom.ppf(1 - 1e-3, runs, 1.0 - SURE)
    assert drifted <= allowed
    assert broken <= allowed


def test_exact_intervals_are_those_of_the_binomial() -> None:
    low, high = clopper_pearson(np.array([0.0, 3.0, 10.0, 0.0]), np.array([10.0, 10.0, 10.0, 0.0]), 0.05)
    np.testing.assert_allclose(low, [0.0, 0.0667, 0.6915, 0.0], atol=1e-4)
    np.testing.assert_allclose(high, [0.3085, 0.6525, 1.0, 1.0], atol=1e-4)
    assert binom.sf(2, 10, low[1]) == pytest.approx(0.025)


def test_calibration_is_compared_only_where_labels_are_known_of_both() -> None:
    """Labels above the threshold alone, as after a policy was in use, do not look like drift."""
    rng = np.random.default_rng(5)
    rates = np.linspace(0.05, 0.95, 40)
    good = rng.binomial(100, rates)
    old = np.stack((100 - good, good, np.zeros(40)), axis=1).astype(float)
    later = rng.binomial(100, rates)
    new = np.stack((100 - later, later, np.zeros(40)), axis=1).astype(float)
    new[:20] = [0.0, 0.0, 100.0]
    found = calibration_moved("a", old, new)
    assert found.people == 2000
    assert found.p_value is not None
    assert found.p_value > 0.01
    assert found.then == pytest.approx(rates[20:].mean(), abs=0.03)


def test_calibration_that_has_not_moved_is_rarely_called_drifted_even_if_good_labels_are_rare() -> None:
    rng, runs, level = np.random.default_rng(8), 400, 0.00625
    good = np.linspace(0.02, 0.1, 64)
    cells = np.stack((1.0 - good, good, np.zeros(64)), axis=1).ravel() / 64
    called = 0
    for _ in range(runs):
        old, new = (rng.multinomial(size, cells).reshape(64, 3).astype(float) for size in (100, 500))
        called += (calibration_moved("a", old, new).p_value or 1.0) <= level
    assert called <= binom.ppf(1 - 1e-2, runs, level)


def test_calibration_of_one_band_of_one_bin_is_fishers_exact_test() -> None:
    found = calibration_moved("a", np.array([[90.0, 10.0, 0.0]]), np.array([[30.0, 12.0, 0.0]]))
    assert found.p_value == pytest.approx(fisher_exact([[90, 10], [30, 12]]).pvalue)
    many = calibration_moved("a", np.array([[9000.0, 1000.0, 0.0]]), np.array([[3000.0, 400.0, 0.0]]))
    assert many.p_value == pytest.approx(fisher_exact([[9000, 1000], [3000, 400]]).pvalue)


def test_acceptance_is_compared_by_fishers_exact_test_however_many_people_there_are() -> None:
    for hits, people, new_hits, new in ((90, 100, 30, 42), (0, 40, 3, 50), (9000, 20_000, 9400, 20_000)):
        found = rates_moved("acceptance", "a", hits, people, new_hits, new).p_value
        assert found == pytest.approx(
            fisher_exact([[hits, people - hits], [new_hits, new - new_hits]]).pvalue, rel=1e-6
        )
    assert rates_moved("acceptance", "a", 0, 400, 0, 500).p_value == 1.0
    assert rates_moved("acceptance", "a", 0, 4_000_000, 5_000_000, 5_000_000).p_value == pytest.approx(0.0)
    millions = rates_moved("acceptance", "a", 2_000_000, 4_000_000, 2_501_500, 5_000_000).p_value
    assert millions == pytest.approx(2.0 * norm.sf(0.0003 / np.sqrt(0.25 / 4e6 + 0.25 / 5e6)), rel=0.01)


def test_a_band_of_very_many_labels_is_compared_as_one_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = np.array([[30_000.0, 30_000.0, 0.0]]), np.array([[20_000.0, 20_400.0, 0.0]])
    normal = calibration_moved("a", old, new).p_value
    monkeypatch.setattr("fairgate.advice.drift.MANY", np.inf)
    assert normal == pytest.approx(calibration_moved("a", old, new).p_value, rel=0.02)
    assert normal == pytest.approx(fisher_exact([[30_000, 30_000], [20_000, 20_400]]).pvalue, rel=0.02)


@pytest.mark.parametrize("descending", [False, True])
def test_the_band_of_scores_that_moved_most_is_told(descending: bool) -> None:
    """Of 10 bins of 100 people, one has 150 more of those who come later; and there, labels are worse."""
    old = np.tile([50.0, 50.0, 0.0], (10, 1))
    new = old.copy()
    new[3] = [200.0, 50.0, 0.0]
    cuts = np.arange(10) / 10.0 - descending
    scores, _, calibration, _ = compare("a", old, new, 5, True, cuts=cuts, descending=descending)
    where = "above 0.6 up to 0.7" if descending else "from 0.3 to below 0.4"
    assert scores.band == where
    assert scores.band_then == pytest.approx(0.1)
    assert scores.band_now == pytest.approx(250 / 1150)
    assert f"; most at scores {where}: 21.7% of the people, 10.0% then; p < 0.0001" in drift_text(scores)
    assert calibration.band == ("above 0.6 up to 0.8" if descending else "from 0.2 to below 0.4")
    assert calibration.band_then == pytest.approx(0.5)
    assert calibration.band_now == pytest.approx(100 / 350)
    assert "28.6% good, 50.0% expected" in drift_text(calibration)
    same = compare("a", old, old, 5, True, cuts=cuts, descending=descending)
    assert [each.band for each in same] == [""] * 4
    outer = old.copy()
    outer[-1] *= 3.0
    told = compare("a", old, outer, 5, False, cuts=cuts, descending=descending)[0]
    assert told.band == ("up to 0.1" if descending else "from 0.9")


def test_too_few_people_cannot_tell() -> None:
    old = np.full((10, 3), 20.0)
    found = compare("a", old, np.zeros((10, 3)), 5, True, cuts=np.arange(10.0))
    assert all(each.p_value is None for each in found)
    assert joined(np.full(64, 10.0), np.full(64, 1.0), 10).size <= 6
    assert scores_moved("a", np.full(64, 10.0), np.full(64, 10.0)).psi == pytest.approx(0.0)


def test_labels_may_be_lacking_and_strangers_are_told_of(advice: Path) -> None:
    table = people(800, np.random.default_rng(6)).drop_columns(["repaid"])
    sex = table["sex"].to_pylist()
    table = table.set_column(1, "sex", pa.array(["x", *sex[1:]]))
    found = fg.monitor(table, advice)
    assert {each.kind for each in found.drifts} == {"scores", "acceptance"}
    assert found.newcomers.strangers == {"x": 1}


def test_the_command_prints_json_and_exits_with_1_if_a_constraint_is_broken(advice: Path) -> None:
    folder = advice.parent
    pc.write_csv(people(1500, np.random.default_rng(7)), folder / "march.csv")
    pc.write_csv(people(1500, np.random.default_rng(8), shift=1.0), folder / "april.csv")
    march = fairgate_here("monitor", "march.csv", "--against", "advice", cwd=folder)
    assert (march.returncode, march.stderr) == (0, "")
    assert "no constraint is broken with the stated certainty" in " ".join(march.stdout.split())
    assert max(map(len, march.stdout.splitlines())) <= 80
    april = fairgate_here("monitor", "april.csv", "--against", "advice", "--json", cwd=folder)
    assert april.returncode == 1
    document = json.loads(april.stdout)
    assert (document["look"], document["broken"]) == (2, True)
    assert "BROKEN: the gap between groups is at least" in document["constraints"][0]["text"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("march.csv", "--against", "nowhere"), "--against 'nowhere' is no folder"),
        (("march.csv", "--against", "empty"), "cannot read empty/report.json"),
        (("march.csv", "--against", "other"), "other/report.json must be of format"),
        (("march.csv", "--against", "mixed"), "are of two advices"),
        (("march.csv", "--against", "damaged"), "is damaged"),
        (("march.csv", "--against", "log"), "log/monitor.json must be a log of looks"),
        (("march.csv", "--against", "path"), "path/monitor.json must be a log of looks"),
        (("nobody.csv", "--against", "advice"), "file 'nobody.csv' does not exist"),
        (("lacking.csv", "--against", "advice"), "the score column 'score' is not in the table"),
        (("words.csv", "--against", "advice"), "2 have score not a number in the column 'score', such as 'low'"),
        (("strangers.csv", "--against", "advice"), "has nobody of the groups of the advice: f, m"),
        (("blank.csv", "--against", "advice"), "file 'blank.csv' is empty"),
    ],
)
def test_bad_input_of_a_look_is_one_sentence_and_exit_code_2(
    advice: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    folder = advice.parent
    pc.write_csv(people(200, np.random.default_rng(7)), folder / "march.csv")
    tables = {"lacking": "repaid,sex\n1,f\n", "words": "score,sex\nlow,f\nhigh,m\n", "blank": ""}
    for name, text in (tables | {"strangers": "score,sex\n0.5,x\n"}).items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    report, reference = (json.loads((advice / f"{name}.json").read_text()) for name in ("report", "reference"))
    damaged = {name: value for name, value in reference.items() if name != "columns"}
    for name, (one, other) in {
        "other": (report | {"format": 1}, reference),
        "mixed": (report, reference | {"threshold": 9.0}),
        "damaged": (report, damaged),
        "log": (report, reference),
        "path": (report, reference),
    }.items():
        (folder / name).mkdir()
        (folder / name / "report.json").write_text(json.dumps(one))
        (folder / name / "reference.json").write_text(json.dumps(other))
    (folder / "empty").mkdir()
    (folder / "log/monitor.json").write_text("[]")
    (folder / "path/monitor.json").write_text('{"format": 1, "advice": "../x", "looks": []}')
    result = fairgate_here("monitor", *arguments, cwd=folder)
    assert (result.returncode, result.stdout) == (2, "")
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
