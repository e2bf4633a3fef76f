"""Cases: why an application was accepted or rejected, with the facts that a notice needs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, and_, select, tuple_

from fairgate.live.failures import MissingError
from fairgate.live.fold import read_policy
from fairgate.live.replies import CaseFacts
from fairgate.live.schema import cases, events, outcomes, overrides
from fairgate.live.spec import Spec
from fairgate.live.words import bin_text, policy_now, policy_text, rule_text, threshold_of


def find_case(spec: Spec, connection: Connection, gate: int, name: str) -> CaseFacts:
    """Return why an application was accepted or rejected."""
    if spec.store == "counts":
        raise MissingError(f"the gate {spec.name!r} keeps counts only, no applications")
    row = connection.execute(select(cases).where(cases.c.gate == gate, cases.c.id == name)).first()
    if row is None:
        raise MissingError(f"there is no application {name!r} at the gate {spec.name!r}")
    return case_facts(spec, connection, gate, row)


def list_cases(spec: Spec, connection: Connection, gate: int, after: tuple[int, int], limit: int) -> list[CaseFacts]:
    """Return applications in the order they were decided."""
    later = tuple_(cases.c.seq, cases.c.place) > after
    asked = select(cases).where(cases.c.gate == gate, later).order_by(cases.c.seq, cases.c.place).limit(limit)
    return [case_facts(spec, connection, gate, row) for row in connection.execute(asked).all()]


def case_facts(spec: Spec, connection: Connection, gate: int, row: Row[Any]) -> CaseFacts:
    """Return the facts of one row."""
    grid, counted = spec.setting.thresholds, float(spec.counted(np.array(row.score)))
    event = connection.execute(select(events).where(events.c.gate == gate, events.c.seq == row.seq)).one()
    opened = _opened(connection, gate, row.round)
    changed = connection.execute(select(overrides).where(overrides.c.gate == gate, overrides.c.id == row.id)).first()
    labelled = connection.execute(
        select(outcomes.c.label, events.c.at)
        .join(events, and_(events.c.gate == outcomes.c.gate, events.c.seq == outcomes.c.seq))
        .where(outcomes.c.gate == gate, outcomes.c.id == row.id)
        .order_by(outcomes.c.seq.desc())
        .limit(1)
    ).first()
    data = json.loads(opened.body)
    reported = event.kind == "reported"
    policy, allowed = (read_policy(data[name]) for name in ("policy", "allowed"))
    accepted = bool(row.accepted if changed is None else changed.accepted)
    by = "the operator's own rule" if reported else "the policy in force" if changed is None else "a person"
    clipped = "" if counted == row.score else f" (which counts as {counted:g}, the bound of the range)"
    said = [
        f"Application {row.id} of the group {spec.groups[row.group]}, with the score {row.score:g}{clipped}, was "
        f"{'accepted' if accepted else 'rejected'} by {by} in round {row.round}, on {event.at[:10]}."
    ]
    threshold, lottery, split = None, False, False
    if reported or policy is None:
        policy = None
        said += [] if allowed is None else [f"The learner would have had this rule: {policy_text(spec, allowed)}."]
    else:
        component = int(np.searchsorted(policy.weights[:-1, 0].cumsum(), row.draw, side="right"))
        threshold = threshold_of(float(policy.thresholds[component, 0, row.group]))
        lottery = bool(policy.is_lottery[0])
        answers = counted >= policy.thresholds[:, 0, row.group]
        split = lottery and bool(answers.any() and not answers.all())
        said.append(f"The policy in force was: {policy_text(spec, policy)}.")
        if split:
            rule = rule_text(spec, policy.thresholds[component, 0])
            whose = "Its lottery number" if row.subject is None else "The lottery number of its subject in this period,"
            said.append(f"{whose} {row.draw:.6f}{',' if row.subject else ''} drew the rule: accept {rule}.")
            if not accepted and changed is None:
                said.append("A rejection by lottery needs a reason that counsel accepts.")
        elif lottery:
            said.append(f"Every rule of the lottery {'accepts' if row.accepted else 'rejects'} this score.")
    if changed is not None:
        said.append(
            f"The policy had {'accepted' if row.accepted else 'rejected'} it; a person overrode that: {changed.reason}"
        )
    since = opened.at if data["since"] == row.round else _opened(connection, gate, data["since"]).at
    return CaseFacts(
        id=row.id,
        seq=row.seq,
        place=row.place,
        round=row.round,
        at=event.at,
        mode=data["mode"],
        group=spec.groups[row.group],
        score=row.score,
        bin=bin_text(grid, row.bin),
        policy=None if policy is None else policy_now(spec, policy, data["since"], since),
        proposal=None if allowed is None else policy_now(spec, allowed, row.round, opened.at),
        by_lottery=split and changed is None,
        draw=row.draw if lottery else None,
        threshold=threshold,
        accepted=accepted,
        decided_by=by,
        override=None if changed is None else changed.reason,
        label=None if labelled is None else labelled.label,
        label_at=None if labelled is None else labelled.at,
        text=" ".join(filter(None, said)),
    )


def _opened(connection: Connection, gate: int, number: int) -> Row[Any]:
    """Return the event that opened a round."""
    asked = select(events).where(events.c.gate == gate, events.c.kind == "opened", events.c.round == number)
    return connection.execute(asked).one()
