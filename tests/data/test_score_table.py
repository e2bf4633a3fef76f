"""The table of scores and repayment that ships is the one `scripts/make_data.py` makes, and loads as documented."""

from __future__ import annotations

import hashlib
from importlib.resources import files

import numpy as np
import pytest

from fairgate.data import load_fico
from fairgate.data.score_table import FICO_SHA256
from fairgate.errors import InputError


def test_the_shipped_table_is_the_one_whose_hash_is_written_down() -> None:
    content = (files("fairgate.data") / "fico.csv").read_bytes()
    assert hashlib.sha256(content).hexdigest() == FICO_SHA256
    assert b"\r" not in content


def test_groups_have_the_people_and_the_figures_of_the_raw_tables() -> None:
    table = load_fico()
    assert dict(zip(table.group_names, table.people.tolist(), strict=True)) == {
        "white": 133165,
        "black": 18274,
        "hispanic": 14702,
        "asian": 7906,
    }
    assert table.pdf.shape == table.repay.shape == (4, 198)
    assert (table.scores[0], table.scores[-1]) == (300.0, 850.0)
    assert (np.diff(table.scores) > 0).all()
    np.testing.assert_allclose(table.pdf.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(table.pdf.cumsum(axis=1)[:, 2], [0.0116, 0.0533, 0.0222, 0.0088])
    np.testing.assert_allclose(table.repay[:, 0], [0.0146, 0.0033, 0.0095, 0.0523])
    np.testing.assert_allclose(table.repay[:, -1], [0.9910, 0.9904, 0.9913, 0.9921])


def test_some_groups_in_the_order_asked_for() -> None:
    both, every = load_fico(["black", "white"]), load_fico()
    np.testing.assert_array_equal(both.pdf, every.pdf[[1, 0]])
    np.testing.assert_allclose(both.shares, [0.12066905, 0.87933095], atol=1e-8)  # as the authors' notebook prints them


def test_unknown_or_repeated_groups_are_refused() -> None:
    with pytest.raises(InputError, match=r"unknown group of fico 'blak': did you mean 'black'\?"):
        load_fico(["blak"])
    with pytest.raises(InputError, match=r"different groups of fico, at least one, got \['white', 'white'\]"):
        load_fico(["white", "white"])
