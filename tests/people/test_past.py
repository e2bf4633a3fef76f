"""Decisions, dates, weights and crossed groups are counted as plain pandas counts them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import fairgate as fg
from fairgate.advice import Aims, advise
from fairgate.advice.config import put_together
from fairgate.advice.findings import inspect
from fairgate.people import Applicants, from_file, from_frame
from fairgate.people.applicants import CANDIDATES
from fairgate.people.dates import Dates, count_periods, period_starts, periods

pd: Any = pytest.importorskip("pandas")

COLUMNS: dict[str, Any] = {"score": "score", "label": "label", "group": "sex"}
PAST: dict[str, Any] = {"decision": "accepted", "date": "day"}


def people(rows: int = 3000, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    score = rng.normal(size=rows)
    accepted = score + rng.normal(size=rows) > 0.2
    label = (rng.random(rows) < 1.0 / (1.0 + np.exp(-2.0 * score))).astype(float)
    label[~accepted] = np.nan
    day = pd.Timestamp("2022-01-15") + pd.to_timedelta(rng.integers(0, 700, rows), unit="D")
    return pd.DataFrame(
        {
            "score": score,
            "label": label,
            "sex": rng.choice(["f", "m"], rows),
            "race": rng.choice(["black", "white", "other"], rows, p=[0.3, 0.5, 0.2]),
            "accepted": accepted,
            "day": day,
            "weight": rng.exponential(size=rows) + 0.1,
        }
    )


@pytest.fixture(scope="module")
def frame() -> Any:
    return people()


# ---- decisions ------------------------------------------------------------------------------------------------------


def test_past_acceptance_is_counted_by_group_and_bin(frame: Any) -> None:
    found = from_frame(frame, **COLUMNS, decision="accepted")
    assert found.decisions is not None
    assert found.current_rates is not None
    expected = frame.groupby("sex")["accepted"].mean()
    assert dict(zip(found.groups, found.current_rates, strict=True)) == pytest.approx(expected.to_dict())
    for joined in (found, found.coarsened(), found.coarsened(40)):
        assert joined.decisions is not None
        assert joined.current_rates is not None
        np.testing.assert_array_equal(joined.decisions.sum(axis=2), joined.counts.sum(axis=2))
        np.testing.assert_allclose(joined.current_rates, found.current_rates)
    assert from_frame(frame, **COLUMNS).current_rates is None


def test_people_whose_decision_is_missing_count_as_people_only(frame: Any) -> None:
    accepted = frame["accepted"].map({True: "approved", False: "Declined"}).where(frame.index % 10 > 0, None)
    found = from_frame(frame.assign(accepted=accepted), **COLUMNS, decision="accepted")
    assert found.decisions is not None
    assert found.people == 3000
    assert found.decisions.sum() == 2700
    text = next(each.text for each in inspect(found, Aims()) if each.key == "decision-missing")
    assert text.startswith("10% of the people have no decision")


def test_decisions_that_are_none(frame: Any) -> None:
    with pytest.raises(fg.InputError, match=r"'accepted' must be 0 or 1, .* got 'maybe', 'no', 'yes'"):
        from_frame(frame.assign(accepted=["yes", "no", "maybe"] * 1000), **COLUMNS, decision="accepted")
    with pytest.raises(fg.InputError, match="the decision column 'accepted' is missing for every row"):
        from_frame(frame.assign(accepted=None), **COLUMNS, decision="accepted")
    found = inspect(from_frame(frame.assign(accepted=1), **COLUMNS, decision="accepted"), Aims())
    assert "Everybody whose decision is known was accepted" in next(e.text for e in found if e.key == "one-decision")


# ---- history --------------------------------------------------------------------------------------------------------


def brute(frame: Any, found: Applicants, names: Any) -> Any:
    """Count a history row by row."""
    assert found.history is not None
    cuts = found.coarsened().cuts
    shape = (len(found.history.periods), len(found.groups), len(cuts), 3, 2)
    counts = np.zeros(shape, dtype=int)
    for row in frame.assign(name=names).itertuples():
        at = (
            found.history.periods.index(row.name),
            found.groups.index(row.sex),
            int(np.searchsorted(cuts, row.score, side="right")) - 1,
            2 if np.isnan(row.label) else int(row.label),
            int(row.accepted),
        )
        counts[at] += 1
    return counts


@pytest.mark.parametrize(("period", "form"), [("month", "%Y-%m"), ("week", "%G-W%V"), ("year", "%Y"), (None, "%Y-%m")])
def test_a_history_is_what_counting_row_by_row_gives(frame: Any, period: str | None, form: str) -> None:
    found = from_frame(frame, **COLUMNS, **PAST, period=period)
    assert found.history is not None
    assert found.history.decided
    np.testing.assert_array_equal(found.history.counts, brute(frame, found, frame["day"].dt.strftime(form)))
    assert found.history.counts.shape[2] == CANDIDATES == len(found.coarsened().cuts)
    assert list(found.history.periods) == sorted(found.history.periods)
    same = found.coarsened().history
    assert same is found.history
    coarse = found.coarsened(30)
    assert coarse.history is not None
    np.testing.assert_array_equal(coarse.history.counts.sum(axis=(0, 4)), coarse.counts)


def test_periods_without_anybody_are_there(frame: Any) -> None:
    gap = frame[(frame["day"] < "2022-06-01") | (frame["day"] >= "2022-09-01")]
    found = from_frame(gap, **COLUMNS, **PAST).history
    assert found is not None
    assert (
        found.counts.sum(axis=(1, 2, 3, 4))[[found.periods.index(f"2022-0{n}") for n in (6, 7, 8)]].tolist() == [0] * 3
    )
    assert found.counts.sum() == len(gap)


def test_without_decisions_nobody_is_said_to_be_accepted(frame: Any) -> None:
    found = from_frame(frame, **COLUMNS, date="day").history
    assert found is not None
    assert not found.decided
    assert found.counts[..., 1].sum() == 0
    assert found.counts.sum() == 3000


def test_rows_without_a_date_are_people_outside_the_history(frame: Any) -> None:
    day = frame["day"].where(frame.index % 10 > 0)
    found = from_frame(frame.assign(day=day), **COLUMNS, **PAST)
    assert found.history is not None
    assert (found.people, found.history.counts.sum(), found.history.left_out) == (3000, 2700, 300)
    assert "300 rows have no date" in next(e.text for e in inspect(found, Aims()) if e.key == "history-left-out")
    with pytest.raises(
        fg.InputError, match="'day' has no date in any of 3000 rows, got '03/04/2024': write dates as 2024"
    ):
        from_frame(frame.assign(day="03/04/2024"), **COLUMNS, **PAST)
    mixed = frame["day"].astype(str).where(frame.index % 2 == 0, "31.12.2024")
    with pytest.raises(fg.InputError, match=r"'day' has a date in only 1500 of 3000 rows, got '31\.12\.2024'"):
        from_frame(frame.assign(day=mixed), **COLUMNS, **PAST)
    with pytest.raises(fg.InputError, match="'day' must be dates, but is of type bool"):
        from_frame(frame.assign(day=True), **COLUMNS, **PAST)


def test_too_many_periods_are_refused(frame: Any) -> None:
    with pytest.raises(fg.InputError, match=r"700 periods of a day, and at most 400 .* such as week \(--period\)"):
        from_frame(frame, **COLUMNS, **PAST, period="day")
    wrong = frame["day"].astype(str).where(frame.index > 0, "0024-01-01")
    with pytest.raises(fg.InputError, match=r"goes from 0024-01-01 to .* look for a wrong year"):
        from_frame(frame.assign(day=wrong), **COLUMNS, **PAST)


def test_days_are_read_from_everything_that_leaves_no_doubt() -> None:
    wanted = (np.datetime64("2024-02-29") - np.datetime64("1970-01-01")).astype(int)
    texts = ["2024-02-29", " 2024/2/29", "20240229", "2024-02-29 23:59:59", "2024-02-29T23:59:59.5+02:00", "2024.02.29"]
    columns: list[Any] = [pa.array([text]) for text in texts]
    columns += [
        pa.array([20240229]),
        pa.array([20240229.0]),
        pa.array([np.datetime64("2024-02-29T23:59:59", "ns")]),
        pa.array(["2024-02-29"]).dictionary_encode(),
    ]
    for column in columns:
        assert Dates("day").days(column).tolist() == [wanted], column
    dates = Dates("day")
    never = dates.days(pa.array(["", None, "NaT", "29.02.2024", "2024-02-30", "yesterday", "2024"]))
    assert len(set(never.tolist())) == 1
    assert dates.unread == ["29.02.2024", "2024-02-30", "yesterday", "2024"]


@pytest.mark.parametrize("period", ["day", "week", "month", "quarter", "year"])
def test_periods_have_no_gaps_and_hold_every_day(period: str) -> None:
    days = np.arange(19_000, 19_390, dtype=np.int32)
    _, names, begins = periods("day", days, period)
    assert len(names) == len(set(names)) == len(begins) == count_periods(days, period)
    np.testing.assert_array_equal(np.unique(period_starts(days, period)), begins)


@pytest.mark.parametrize("form", ["number", "decimal", "text"])
def test_years_alone_are_dates_if_the_whole_column_is_years(frame: Any, form: str) -> None:
    year = 2019 + frame.index % 5
    kinds = {"number": year, "decimal": year.astype(float), "text": year.astype(str)}
    history = from_frame(frame.assign(day=kinds[form]), **COLUMNS, **PAST).history
    assert history is not None
    assert history.period == "year"
    assert history.periods == ("2019", "2020", "2021", "2022", "2023")
    assert history.left_out == 0
    audited = fg.audit(frame.assign(day=kinds[form]), decision="accepted", group="sex", date="day")
    assert audited.decisions.looks == history.periods


def test_no_period_is_shorter_than_what_is_written(frame: Any) -> None:
    months = frame.assign(day=(1 + frame.index % 3).map("2024-{:02d}".format))
    history = from_frame(months, **COLUMNS, **PAST).history
    assert history is not None
    assert history.periods == ("2024-01", "2024-02", "2024-03")
    with pytest.raises(fg.InputError, match="no more than the year: a period cannot be a month, choose year"):
        from_frame(frame.assign(day=2019 + frame.index % 5), **COLUMNS, **PAST, period="month")


def test_a_year_among_whole_dates_is_not_read() -> None:
    dates = Dates("day")
    days = dates.days(pa.array(["31.01.2024", "2024", "01.02.2024"]))
    assert days.astype("datetime64[D]").astype(str)[[0, 2]].tolist() == ["2024-01-31", "2024-02-01"]
    assert dates.unread == ["2024"]


# ---- weights --------------------------------------------------------------------------------------------------------


def test_weights_give_shares_of_people_and_the_effective_number(frame: Any) -> None:
    found = from_frame(frame, **COLUMNS, **PAST, weight="weight")
    weight = frame["weight"]
    by_group = weight.groupby(frame["sex"])
    effective = weight.sum() * (by_group.sum() / (weight**2).groupby(frame["sex"]).sum()).min()
    assert found.total == pytest.approx(weight.sum())
    assert found.people == round(effective) < 3000
    assert found.counts.sum() == pytest.approx(round(effective))
    shares = weight.groupby(frame["sex"]).sum() / weight.sum()
    assert (found.sizes / found.people).tolist() == pytest.approx(shares.tolist())
    rates = (weight * frame["accepted"]).groupby(frame["sex"]).sum() / weight.groupby(frame["sex"]).sum()
    assert found.current_rates is not None
    assert found.current_rates.tolist() == pytest.approx(rates.tolist())
    assert found.history is not None
    assert found.history.counts.sum() == pytest.approx(found.people)
    share = found.above.sum(axis=(0, 2))[700] / found.counts.sum()
    assert share == pytest.approx(weight[frame["score"] >= found.cuts[700]].sum() / weight.sum())
    assert "stand for" in next(each.text for each in inspect(found, Aims()) if each.key == "weighted")


def test_equal_weights_change_nothing_but_the_total(frame: Any) -> None:
    plain, weighted = from_frame(frame, **COLUMNS), from_frame(frame.assign(weight=2.5), **COLUMNS, weight="weight")
    np.testing.assert_allclose(plain.counts, weighted.counts)
    assert (plain.total, weighted.total) == (3000.0, 7500.0)
    aims = Aims(constraints=[fg.DemographicParity(0.2)], feedback=(0.0,), seeds=1, rounds=5)
    one, other = (advise(each, aims).recommendation for each in (plain, weighted))
    assert one.rule == other.rule
    assert one.reward.value == pytest.approx(other.reward.value)


def test_weights_that_are_none(frame: Any) -> None:
    weight = frame["weight"].copy()
    weight[:5], weight[5:9] = 0.0, np.nan
    found = from_frame(frame.assign(weight=weight), **COLUMNS, weight="weight")
    assert found.dropped == {"weight not a number": 4, "weight zero": 5}
    keys = [each.key for each in inspect(found, Aims())]
    assert "weight-missing" in keys
    assert "weight-zero" in keys
    with pytest.raises(fg.InputError, match="the weight column 'weight' must be at least 0 everywhere, got -1"):
        from_frame(frame.assign(weight=weight.where(weight > 0.2, -1.0)), **COLUMNS, weight="weight")
    with pytest.raises(fg.InputError, match="the weight column 'weight' is above 0 in none of 3000 rows"):
        from_frame(frame.assign(weight=0), **COLUMNS, weight="weight")


# ---- groups of several columns --------------------------------------------------------------------------------------


def test_several_group_columns_are_crossed(frame: Any, tmp_path: Path) -> None:
    found = from_frame(frame, **(COLUMNS | {"group": ["sex", "race"]}))
    sizes = frame.groupby(["sex", "race"]).size()
    assert dict(zip(found.groups, found.sizes.tolist(), strict=True)) == {" · ".join(k): n for k, n in sizes.items()}
    assert found.groups[:2] == ("f · black", "f · other")
    assert found.columns.group == "sex × race"
    frame.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "policy.toml").write_text(
        '[data]\nfile = "people.csv"\nscore = "score"\nlabel = "label"\ngroup = ["sex", "race"]\n', encoding="utf-8"
    )
    config = put_together(tmp_path / "policy.toml", {}, {})
    np.testing.assert_array_equal(from_file(**config.table).counts, found.counts)


def test_crossed_groups_are_called_by_their_columns() -> None:
    table = pa.table({"score": range(40), "label": [0, 1] * 20, "male": [0, 0, 1, 1] * 10, "race": ["a", "b"] * 20})
    found = from_frame(table, score="score", label="label", group=["male", "race"])
    assert [found.called(name) for name in found.groups] == [
        "male = 0 · race = a",
        "male = 0 · race = b",
        "male = 1 · race = a",
        "male = 1 · race = b",
    ]


def test_somebody_without_one_of_the_values_has_no_group(frame: Any) -> None:
    race = frame["race"].where(frame.index % 20 > 0, None)
    found = from_frame(frame.assign(race=race), **(COLUMNS | {"group": ["sex", "race"]}))
    assert found.dropped == {"group missing": 150}


def test_crossings_that_are_rare_are_left_out_and_many_are_refused(frame: Any) -> None:
    rare = frame.assign(race=np.where(frame.index < 3, "rare", frame["race"]))
    found = from_frame(rare, **(COLUMNS | {"group": ["sex", "race"]}))
    assert set(found.strays) <= {"f · rare", "m · rare"}
    assert sum(found.strays.values()) == 3
    many = frame.assign(region=frame.index % 30)
    with pytest.raises(fg.InputError, match="the group column 'sex × region' has more than 50 different values"):
        from_frame(many, **(COLUMNS | {"group": ["sex", "region"]}))


# ---- dates with the year at their end -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "order"), [("%d.%m.%Y", "day"), ("%d/%m/%Y", "day"), ("%m/%d/%Y", "month"), ("%d.%m.%Y %H:%M", "day")]
)
def test_dates_that_leave_no_doubt_in_the_whole_column_are_read(frame: Any, form: str, order: str) -> None:
    written = frame.assign(day=frame["day"].dt.strftime(form).where(frame.index % 50 > 0))
    known = frame.assign(day=frame["day"].where(frame.index % 50 > 0))
    found, expected = (from_frame(each, **COLUMNS, **PAST) for each in (written, known))
    assert found.history is not None
    assert expected.history is not None
    assert found.history.periods == expected.history.periods
    np.testing.assert_array_equal(found.history.counts, expected.history.counts)
    (note,) = found.notes
    first = pd.Timestamp(frame["day"][1])
    assert note == f"The date column 'day' has the {order} first: '{first.strftime(form)}' was read as {first.date()}."
    audited = fg.audit(pa.Table.from_pandas(written.dropna()), decision="accepted", group="sex", date="day")
    assert audited.decisions.looks == expected.history.periods
    assert note.split("first")[0] in audited.document()["summary"][1]


def test_a_number_above_12_may_come_in_a_later_part_of_the_table() -> None:
    dates = Dates("day")
    parts = [dates.add(pa.array(texts)) for texts in (["03.04.2024", None], ["05.04.2024"], ["30.04.2024", "soon"])]
    settled = [part.astype("datetime64[D]").astype(str).tolist() for part in dates.settle(parts)]
    assert (settled[0][0], settled[1], settled[2][0]) == ("2024-04-03", ["2024-04-05"], "2024-04-30")
    assert dates.unread == ["soon"]


@pytest.mark.parametrize(
    "texts",
    [
        ["03.04.2024", "05.06.2024"],
        ["31.01.2024", "01.31.2024"],
        ["31.01.2024", "2024-02-01"],
        ["31.01-2024", "30.01-2024"],
    ],
)
def test_dates_that_leave_a_doubt_are_not_read(frame: Any, texts: list[str]) -> None:
    days = Dates("day").days(pa.array(texts))
    assert [day for day, text in zip(days, texts, strict=True) if not text.startswith("2024") and day > -1e6] == []
    unread = frame.assign(day=["03.04.2024", "05.06.2024"] * 1500)
    with pytest.raises(fg.InputError, match="write dates as 2024-01-31"):
        from_frame(unread, **COLUMNS, **PAST)
