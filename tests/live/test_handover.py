"""A gate with other constraints takes over, over HTTP: the old one takes outcomes alone, the new one starts from it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fairgate.errors import InputError
from fairgate.live import Gate
from fairgate.live.audit import audit_log, stored_log
from fairgate.live.decisions import export_decisions
from fairgate.live.failures import ConflictError
from fairgate.live.keys import create_key
from fairgate.live.past import PastDecisions
from fairgate.live.spec import Mode, Spec
from tests.live.gates import make_spec, people
from tests.live.serving import SCOPES, Served, service

HANDED = "the gate 'credit' has handed over to the gate 'credit-2': send new applications there, and outcomes to"


def test_a_gate_with_other_constraints_takes_over(tmp_path: Path) -> None:
    url, rng = str(tmp_path / "gates.db"), np.random.default_rng(0)
    before = people(rng, 300)
    gate = Gate(url, "credit", spec=make_spec())
    taken = gate.decide(*before).accepted
    accepted = [name for name, yes in zip(before[0], taken, strict=True) if yes]
    gate.outcomes(accepted[::2], [1] * len(accepted[::2]))
    with stored_log(gate.engine, "credit") as log:  # fairgate live export --table decisions.parquet
        assert export_decisions(log, tmp_path / "decisions.parquet") == 300
    past = PastDecisions.of("decisions.parquet", gate.spec.groups, columns={"outcome": "label"}, folder=tmp_path)
    assert past.rows == 300
    other = {"name": "credit-2", "constraints": {"parity": 0.2}, "learner": "safe-search", "history": past}
    later = Spec.read(make_spec().model_dump() | other, folder=tmp_path)
    gates = [gate, Gate(url, "credit-2", spec=later)]
    keys = {(each.name, "all"): create_key(each, "all", SCOPES) for each in gates}
    with service(url, make_spec(), later, keys=keys) as served:
        hand_over(served, before, taken, accepted[1::2])
    for each in gates:
        assert audit_log(each).clean
        each.shut()


def hand_over(
    served: Served, before: tuple[list[str], list[str], list[float]], taken: list[bool], due: list[str]
) -> None:
    """Hand over, and check what each gate answers from then on."""
    with served.client("credit") as old, served.client("credit-2") as new:
        wrong: list[tuple[Mode, str]] = [("hold", "credit-2"), ("shadow", "credit")]
        for mode, successor in wrong:
            with pytest.raises(InputError, match="successor must be another gate, in the mode shadow"):
                old.set_mode(mode, "wider service", successor=successor)
        old.set_mode("shadow", "wider service", successor="credit-2", key="handover")
        old.set_mode("shadow", "wider service", successor="credit-2", key="handover")  # a retry changes nothing
        for refused in (
            lambda: old.decide("new", "women", 0.7),
            lambda: old.decide([*before[0], "new"], [*before[1], "women"], [*before[2], 0.7]),
            lambda: old.report(["new"], ["women"], [0.7], [True]),
        ):
            with pytest.raises(ConflictError, match=HANDED):
                refused()
        assert new.decide("new", "women", 0.9).round == 0
        assert old.decide(*before).accepted == taken  # a retry of what was decided before
        awaited = old.figures().labels.awaited
        assert old.outcomes(due, [0] * len(due)).new == len(due) == awaited
        assert old.close().people == 0
        assert old.figures().labels.awaited == 0  # now the old gate can be stopped
        assert old.status().mode.mode == "shadow"
        old.set_mode("hold", "the new gate failed", 0.5)  # the way back
        assert not old.decide("back", "women", 0.4).accepted


def test_the_audit_finds_decisions_after_a_handover(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(str(tmp_path / "gate.db"), "credit", spec=make_spec())
    gate.set_mode("shadow", "wider service", successor="credit-2")
    with monkeypatch.context() as faulty:
        faulty.setattr("fairgate.live.deciding.refuse_new", lambda turn, request: None)
        gate.report(["a"], ["women"], [0.7], [True])
    assert "had handed over to the gate 'credit-2'" in str(audit_log(gate).first)
    gate.shut()
    again = Gate(str(tmp_path / "gate.db"), "credit")
    with pytest.raises(ConflictError, match=HANDED):
        again.report(["b"], ["women"], [0.7], [True])
    again.shut()
