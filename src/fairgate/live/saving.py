"""Saving: a fold as plain data, for snapshots, and back, exactly."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.live.clock import Clock
from fairgate.live.detectors import Detectors
from fairgate.live.events import canonical
from fairgate.live.fold import Fold, ModeSet, OpenRound, Origin, plain_policy, read_policy, sparse
from fairgate.live.spec import Spec
from fairgate.live.watch import Watch
from fairgate.policy import Policy

PLAIN = (
    *("seq", "head", "library", "versions", "round", "force_round", "force_at", "waiting"),
    *("seen", "people", "arrived", "counted", "corrected", "alarmed", "label_at"),
    *("paused", "failure", "error", "closed_at", "closed_seq"),
)
"""Fields of a fold that JSON holds as they are."""

POLICIES = ("force", "last", "allowed")
"""Fields that are policies."""


def save(fold: Fold) -> dict[str, Any]:
    """Return everything as plain data for JSON; :func:`load` gives a fold that goes on exactly as this one."""
    places: dict[str, int] = {}  # policies of many rounds are the same
    origins = [
        [number, places.setdefault(canonical(each.policy.to_json()), len(places)), *vars(each).values()]
        for number, each in fold.origins.items()
    ]
    later: dict[str, Any] = {} if fold.clock is None else {"clock": fold.clock.save()}  # not in every log
    later |= {"successor": fold.successor} if fold.successor else {}
    later |= {"detectors": fold.detectors.save()} if fold.detectors is not None else {}
    return {name: getattr(fold, name) for name in PLAIN} | {
        **later,
        "mode": _plain(fold.mode),
        "open": None if fold.open is None else _plain(fold.open),
        **{name: plain_policy(getattr(fold, name)) for name in POLICIES},
        "labels": _tallies(fold.labels),
        "aside": _tallies(fold.aside),
        "policies": list(places),
        "origins": [[number, place, *rest] for number, place, _, *rest in origins],
        "watches": [each.save() for each in fold.watches],
        "recent": fold.recent.tolist(),
        "learner": fold.learner.save(fold.state),
    }


def load(spec: Spec, saved: dict[str, Any]) -> Fold:
    """Return the fold that :func:`save` gave."""
    fold = Fold(spec)
    for name in PLAIN:
        setattr(fold, name, saved[name])
    fold.mode = ModeSet(**{**saved["mode"], "policy": read_policy(saved["mode"]["policy"])})
    for name in POLICIES:
        setattr(fold, name, read_policy(saved[name]))
    if saved["open"] is not None:
        kept = dict(saved["open"])
        for name in ("counts", "told"):
            kept[name] = dense(kept[name], fold.shape)
        fold.open = OpenRound(**{**kept, "policy": read_policy(kept["policy"])})
    for name in ("labels", "aside"):
        setattr(fold, name, {int(origin): dense(tally, fold.shape) for origin, tally in saved[name].items()})
    policies = [Policy.from_json(json.loads(each)) for each in saved["policies"]]
    fold.origins = {number: Origin(policies[place], *rest) for number, place, *rest in saved["origins"]}
    fold.watches = [Watch.load(each) for each in saved["watches"]]
    fold.recent = np.array(saved["recent"])
    fold.successor = saved.get("successor", "")
    fold.clock = Clock.load(saved["clock"]) if "clock" in saved else None
    if "detectors" in saved:
        fold.detectors = Detectors(spec)
        fold.detectors.load(saved["detectors"])
    fold.state = fold.learner.load(saved["learner"], fold.setting)
    return fold


def dense(places: list[list[int]], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Undo :func:`sparse`."""
    found = np.zeros(shape, dtype=np.int64)
    for *place, number in places:
        found[tuple(place)] = number
    return found


def _tallies(tallies: dict[int, NDArray[np.int64]]) -> dict[str, list[list[int]]]:
    return {str(origin): sparse(tally) for origin, tally in tallies.items()}


def _plain(kept: ModeSet | OpenRound) -> dict[str, Any]:
    found = dict(vars(kept))
    for name, value in found.items():
        if isinstance(value, Policy):
            found[name] = value.to_json()
        elif isinstance(value, np.ndarray):
            found[name] = sparse(value)
    return found
