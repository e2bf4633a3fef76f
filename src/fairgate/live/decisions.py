"""Decisions: the table with a row per application, which ``fairgate audit``, ``advise`` and ``monitor`` read."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from fairgate.errors import InputError
from fairgate.live.auditing.chunks import Chunk, chunks, parse
from fairgate.live.auditing.segments import OWN_RULE
from fairgate.live.auditing.stored import StoredLog
from fairgate.live.export import write_rows
from fairgate.live.spec import Mode, Spec
from fairgate.live.words import policy_name
from fairgate.policy import Policy
from fairgate.settings import Array
from fairgate.store.files import whole

COLUMNS = pa.schema(
    [
        ("id", pa.string()),
        ("round", pa.int64()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("date", pa.date32()),
        ("group", pa.string()),
        ("score", pa.float64()),
        ("accepted", pa.int8()),  # in the end: a person may have overridden the policy
        ("label", pa.int8()),  # empty if it is not known
        ("policy", pa.string()),
        ("segment", pa.int64()),  # runs of one policy, from 1
        ("propensity", pa.float64()),  # with which the policy accepted; empty where no policy decided
        ("mode", pa.string()),
        ("overridden", pa.bool_()),
    ]
)
"""The columns of the table."""


class RoundFacts(NamedTuple):
    """What the table says of a round."""

    mode: Mode
    policy: str
    segment: int
    share: Array | None  # accepted by group and bin; None if the operator's own rule decided


def export_decisions(log: StoredLog, path: Path, allow: Collection[str] = ()) -> int:
    """Write the table as a Parquet file, whole or not at all; return how many rows it has.

    The gate's spec may name the constraints of one's own that are in `allow`.
    """
    first = next(log.events(), None)
    spec = Spec.stored(None if first is None else parse(first).data.get("spec"), allow)
    if spec.store == "counts":
        raise InputError(f"the gate {spec.name!r} keeps counts only: it has no applications to write")
    with whole(path, private=True) as unfinished:
        return write_rows(unfinished, COLUMNS, _parts(log, spec))


def _parts(log: StoredLog, spec: Spec) -> Iterator[list[Any]]:
    rounds: dict[int, RoundFacts] = {}
    for chunk in chunks(log):
        for event, data in chunk.events:
            if event.kind == "opened":
                rounds[event.round] = _round(spec, data, rounds.get(event.round - 1))
        yield _columns(log, spec, chunk, rounds)
        now = max(rounds, default=0)
        rounds = {number: facts for number, facts in rounds.items() if number == now}


def _round(spec: Spec, data: dict[str, Any], before: RoundFacts | None) -> RoundFacts:
    own = data["mode"] == "shadow"
    policy = None if own else Policy.from_json(data["policy"])
    name = OWN_RULE if policy is None else policy_name(policy)
    segment = 1 if before is None else before.segment + (name != before.policy)
    share = None if policy is None else policy.accepted_share(spec.setting.thresholds)[0]
    return RoundFacts(data["mode"], name, segment, share)


def _columns(log: StoredLog, spec: Spec, chunk: Chunk, rounds: dict[int, RoundFacts]) -> list[Any]:
    rows, last = log.cases(chunk.first, chunk.last), log.ends(chunk.first, chunk.last)
    times = {each.event.seq: datetime.fromisoformat(each.event.at) for each in chunk.events}
    at = [times[seq] for seq in rows.seq.tolist()]
    facts = [rounds[number] for number in rows.rounds.tolist()]
    over = last.overridden >= 0
    chances = [
        None if own.share is None or person else float(own.share[group, spot])
        for own, person, group, spot in zip(facts, over.tolist(), rows.groups.tolist(), rows.bins.tolist(), strict=True)
    ]
    return [
        rows.ids,
        rows.rounds,
        at,
        [each.date() for each in at],
        [spec.groups[group] for group in rows.groups.tolist()],
        rows.scores,
        np.where(over, last.overridden, rows.accepted).astype(np.int8),
        [None if label < 0 else label for label in last.labels.tolist()],
        [each.policy for each in facts],
        [each.segment for each in facts],
        chances,
        [each.mode for each in facts],
        over,
    ]
