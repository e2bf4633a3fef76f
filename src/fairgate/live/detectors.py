r"""Detectors: the rates that a gate watches for a change: constraints, and outcomes, acceptance and scores by group.

Each is a line that rates of a round must keep, watched by :class:`fairgate.detection.Detector`:

- a piece of a constraint on decisions;
- the outcome rate of a group, compared with its baseline at the same scores;
- the acceptance rate of a group, compared with the share of the baseline that the policy would accept;
- the share of a group's scores at or above three thresholds, the quartiles of the baseline.

The last three may differ from the baseline by `guards.tolerance`, because applicants respond to decisions. The baseline
is a group's first applicants and labels, at least 1,000 of each. It errs, too. With N labels in a score bin of the
baseline and shares w of the bins in a round, the expected outcome rate errs by at most

.. math:: \tfrac12 \sqrt{k + 2 \sqrt{k \log(1/\delta)} + 2 \log(1/\delta)} \; \sqrt{\textstyle\sum_b w_b^2 / N_b}

for all w with probability 1 − δ (Cauchy–Schwarz, and the tail of a sub-Gaussian norm in k dimensions [1]_). Shares
above a threshold, and so what any policy accepts, err by at most :math:`\sqrt{\log(2e/\delta) / 2N}` [2]_.

References
----------
.. [1] D. Hsu, S. Kakade, T. Zhang. A tail inequality for quadratic forms of subgaussian random vectors. Electronic
   Communications in Probability, 2012.
.. [2] J. Bretagnolle. Statistique de Kolmogorov–Smirnov pour un échantillon non équiréparti. Colloques internationaux
   du CNRS, 1980.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.confidence import rate_bounds
from fairgate.constraints import Constraint
from fairgate.constraints.bounds import RateBounds, residual_bounds
from fairgate.counts import Counts
from fairgate.detection import Detector, log_limit
from fairgate.live.replies import WatchNow
from fairgate.live.spec import Spec
from fairgate.policy import Policy
from fairgate.settings import Array

BASELINE = 1000
"""Applicants, or labels, of a group after which its baseline is complete: an acceptance rate is known within 0.07."""

RECENT = 50
"""Closed rounds that are kept: a pause looks at their scores, from the estimated change on."""

BASELINE_PART = 0.1
"""Part of alpha for a baseline that errs; the rest is for detectors."""

QUARTILES = (0.75, 0.5, 0.25)
"""Shares of the baseline at or above the thresholds at which scores are watched."""

KINDS = ("outcomes", "acceptance", *("scores",) * len(QUARTILES))
"""The kinds of rates that are watched for a change, each by group."""


NOT_WATCHED = "it needs labels, or is not a straight line of acceptance rates"
"""Said of a residual without a detector."""


class Piece(NamedTuple):
    """A straight line of a constraint: its row, for the overall rate and the groups' rates, and its limit."""

    constraint: Constraint
    name: str
    row: Array  # (1 + G,)
    limit: float


class Round(NamedTuple):
    """A closed round, as long as it is recent."""

    number: int
    people: NDArray[np.int64]  # (G, K + 1, 2)
    hits: Array  # of the rates watched for a change, (C,)
    trials: Array
    low: Array  # the ends that they are expected between
    high: Array


class Ring(NamedTuple):
    """An alarm: its kind, the group or residual, its round, the estimated round of the change, and words."""

    kind: str
    name: str
    round: int
    since: int
    at: str
    evidence: float
    text: str


class Retreat(NamedTuple):
    """The policy that a pause goes back to, words, and the evidence that the log keeps."""

    policy: Policy
    text: str
    evidence: dict[str, Any]


class Detectors:
    """All that a gate watches for a change, and the alarms that stand until a person sets the mode."""

    def __init__(self, spec: Spec) -> None:
        groups, bins = len(spec.groups), len(spec.setting.thresholds) + 1
        self.spec = spec
        self.pieces = pieces_of(spec)
        self.rows = np.array([each.row for each in self.pieces]).reshape(-1, 1 + groups)
        self.limits = np.array([each.limit for each in self.pieces])
        cells = len(KINDS) * groups
        self.constraints = Detector.begin(len(self.pieces), groups)
        self.changes = Detector.begin(2 * cells, cells)
        self.sides = np.concatenate((np.eye(cells), -np.eye(cells)))
        self.people = np.zeros((groups, bins), dtype=np.int64)  # the baseline
        self.labels = np.zeros((groups, bins, 2), dtype=np.int64)
        self.recent: deque[Round] = deque(maxlen=RECENT)
        self.alarms: dict[str, Ring] = {}
        self.limit = log_limit(
            len(self.pieces) + 2 * cells, spec.rounds_a_year, spec.guards.alpha * (1.0 - BASELINE_PART)
        )

    # Looking at rounds.

    def look(
        self,
        number: int,
        at: str,
        people: NDArray[Any],
        decided: NDArray[Any],
        labels: NDArray[Any],
        share: Array | None,
    ) -> None:
        """Take in a closed round, and note alarms.

        `people` are all by group, bin and decision (G, K + 1, 2), `decided` those that the policy decided, and `labels`
        those that arrived (G, K + 1, 2). `share` is the part of each group and bin that the policy accepts, if known.
        """
        by_group = people.sum(axis=1)
        came = by_group.sum(axis=1)
        if came.any() and self.pieces:
            rows = self.rows[:, 1:] + self.rows[:, :1] * came / came.sum()
            self.constraints.update(number, by_group[:, 1], came, rows, self.limits)
        scores = people.sum(axis=2)
        seen = self._rates(scores, decided, labels, share)
        self.recent.append(Round(number, people.copy(), *seen))
        hits, trials, low, high = seen
        self.changes.update(number, hits, trials, self.sides, np.concatenate((high, -low)))
        self.people += np.where(self.people.sum(axis=1) < BASELINE, scores.T, 0).T
        self.labels += np.where(self.labels.sum(axis=(1, 2)) < BASELINE, labels.T, 0).T
        self._note(number, at)

    def _rates(
        self, scores: NDArray[Any], decided: NDArray[Any], labels: NDArray[Any], share: Array | None
    ) -> tuple[Array, Array, Array, Array]:
        """Return successes and trials of the watched rates, and the ends they are expected between, (C,) each."""
        groups, tolerance = len(scores), self.spec.guards.tolerance
        risk = np.log(2.0 * groups / (BASELINE_PART * self.spec.guards.alpha))
        size = self.people.sum(axis=1)
        ready = size >= BASELINE
        shares = self.people / np.maximum(size, 1)[:, None]
        width = np.sqrt((risk + 1.0 + np.log(2.0)) / (2.0 * np.maximum(size, 1)))
        known = self.labels.sum(axis=2)
        counted = labels * ((known > 0) & (known.sum(axis=1) >= BASELINE)[:, None])[..., None]
        weight = counted.sum(axis=2)
        weight = weight / np.maximum(weight.sum(axis=1), 1)[:, None]
        good = np.divide(self.labels[..., 1], known, out=np.zeros(known.shape), where=known > 0)
        bins = (known > 0).sum(axis=1)
        spread = np.divide(weight**2, known, out=np.zeros(known.shape), where=known > 0).sum(axis=1)
        error = 0.5 * np.sqrt((bins + 2.0 * np.sqrt(bins * risk) + 2.0 * risk) * spread)
        rates = [(counted[..., 1].sum(axis=1), counted.sum(axis=(1, 2)), (weight * good).sum(axis=1), error)]
        judged = ready if share is not None else np.zeros(groups, dtype=bool)
        expected = np.zeros(groups) if share is None else (shares * share).sum(axis=1)
        rates.append((decided[..., 1].sum(axis=1) * judged, decided.sum(axis=(1, 2)) * judged, expected, width))
        above, now = (each[:, ::-1].cumsum(axis=1)[:, ::-1] for each in (shares, scores))
        for quartile in QUARTILES:
            place = 1 + abs(above[:, 1:] - quartile).argmin(axis=1)[:, None]
            hits, usual = (np.take_along_axis(each, place, axis=1)[:, 0] for each in (now, above))
            rates.append((hits * ready, scores.sum(axis=1) * ready, usual, width))
        found, trials, middle, wide = (np.concatenate(each).astype(np.float64) for each in zip(*rates, strict=True))
        return found, trials, middle - wide - tolerance, middle + wide + tolerance

    def _note(self, number: int, at: str) -> None:
        """Note new alarms: a line rings with its strongest evidence."""
        for line, evidence in enumerate(self.constraints.logs):
            piece = self.pieces[line]
            if evidence >= self.limit:
                since = self.constraints.change(line)
                self._ring("constraint", piece.name, number, since, at, evidence, self._broken(piece, since))
        for line, evidence in enumerate(self.changes.logs):
            if evidence >= self.limit:
                cell = line % len(self.sides[0])
                kind, name, since = (
                    KINDS[cell // self._groups],
                    self.spec.groups[cell % self._groups],
                    self.changes.change(line),
                )
                self._ring(kind, name, number, since, at, evidence, self._changed(cell, since))

    @property
    def _groups(self) -> int:
        return len(self.spec.groups)

    def _ring(self, kind: str, name: str, number: int, since: int, at: str, evidence: float, text: str) -> None:
        self.alarms.setdefault(f"{kind} {name}", Ring(kind, name, number, since, at, float(evidence), text))

    def _since(self, number: int) -> list[Round]:
        """Return the recent rounds from one on, at least the last."""
        return [each for each in self.recent if each.number >= number] or list(self.recent)[-1:]

    def _broken(self, piece: Piece, since: int) -> str:
        rounds = self._since(since)
        by_group = np.sum([each.people for each in rounds], axis=0).sum(axis=1)
        said = ", ".join(
            f"{name} {taken / (taken + left):.0%}"
            for name, (left, taken) in zip(self.spec.groups, by_group.tolist(), strict=True)
            if taken + left
        )
        return (
            f"{piece.constraint.text} ({piece.name}) is broken since about round {rounds[0].number}: accepted since "
            f"then {said}"
        )

    def _changed(self, cell: int, since: int) -> str:
        rounds = [each for each in self._since(since) if each.trials[cell]] or list(self.recent)[-1:]
        trials = np.array([each.trials[cell] for each in rounds])
        rate, low, high = (
            float(sum(values) / trials.sum())
            for values in (
                [each.hits[cell] for each in rounds],
                trials * [each.low[cell] for each in rounds],
                trials * [each.high[cell] for each in rounds],
            )
        )
        kind, group = KINDS[cell // self._groups], self.spec.groups[cell % self._groups]
        what = {
            "outcomes": f"outcomes of {group} have changed since about round {{}}: {{}} good",
            "acceptance": f"acceptance of {group} has changed since about round {{}}: {{}} accepted",
            "scores": f"scores of {group} have changed since about round {{}}: {{}} at or above a watched threshold",
        }[kind]
        expected = f", and {max(low, 0.0):.0%} to {min(high, 1.0):.0%} were expected"
        return what.format(rounds[0].number, f"{rate:.0%}") + expected

    def now(self) -> list[WatchNow]:
        """Return the state of everything that is watched."""
        found = []
        for constraint in self.spec.setting.problem.constraints:
            for name in constraint.names:
                lines = [line for line, piece in enumerate(self.pieces) if piece.name == name]
                found.append(self._state("constraint", name, self.constraints, lines, "" if lines else NOT_WATCHED))
        cells = len(self.sides[0])
        for kind in dict.fromkeys(KINDS):
            known, what = self.people.sum(axis=1), "applicants"
            if kind == "outcomes":
                known, what = self.labels.sum(axis=(1, 2)), "labels"
            for group, name in enumerate(self.spec.groups):
                places = [place * self._groups + group for place, each in enumerate(KINDS) if each == kind]
                few = int(known[group]) < BASELINE
                lines = [] if few else [line for place in places for line in (place, cells + place)]
                gathered = f"its baseline has {known[group]:,} of {BASELINE:,} {what}"
                found.append(self._state(kind, name, self.changes, lines, gathered if few else ""))
        return found

    def _state(self, kind: str, name: str, detector: Detector, lines: list[int], idle: str) -> WatchNow:
        ring = self.alarms.get(f"{kind} {name}")
        state, strength, since, text = "quiet", 0.0, None, idle or "no change is known"
        if ring is not None:
            state, strength, since, text = "alarm", ring.evidence, ring.since, ring.text
        elif idle:
            state = "not watched" if kind == "constraint" else "baseline"
        else:
            logs = detector.logs[lines]
            strength = max(float(logs.max()), 0.0)
            since = detector.change(lines[int(logs.argmax())]) if strength > 0.0 else None
        return WatchNow(kind=kind, name=name, state=state, strength=strength, limit=self.limit, since=since, text=text)

    # What follows from alarms.

    def pausing(self) -> Ring | None:
        """Return the alarm that a pause follows from, the first that rang; none if none does."""
        limits = self.spec.guards
        pauses = {"constraint": limits.pause_if_broken, "outcomes": limits.pause_if_changed}
        return next((each for each in self.alarms.values() if pauses.get(each.kind, False)), None)

    def acknowledge(self, *, by_person: bool) -> None:
        """Begin afresh as the mode is set: constraints always, changes that a person has seen with a new baseline."""
        for key, ring in list(self.alarms.items()):
            if ring.kind != "constraint" and not by_person:
                continue
            del self.alarms[key]
            if ring.kind != "constraint":
                group = self.spec.groups.index(ring.name)
                kinds = [place for place, kind in enumerate(KINDS) if (kind == "outcomes") == (ring.kind == "outcomes")]
                cells = np.array([place * self._groups + group for place in kinds])
                self.changes.restart(np.isin(np.arange(len(self.sides)) % len(self.sides[0]), cells))
                (self.labels if ring.kind == "outcomes" else self.people)[group] = 0
        self.constraints.restart()

    @property
    def watched(self) -> list[Constraint]:
        """The constraints that are watched."""
        return list({each.constraint.text: each.constraint for each in self.pieces}.values())

    def retreat(self, ring: Ring | None, start: Policy) -> Retreat:
        """Return the start policy, or the nearest threshold, that meets the constraints under the present scores.

        These are the scores since the estimated change, at most those of RECENT rounds. Their figures decide. Bounds at
        the level alpha, shared by all thresholds, say whether they confirm it; because the same rounds rang the alarm,
        that is an estimate and not a certificate. A threshold that accepts all or none of a group takes the place of
        no start policy: corrupt scores make such ones look even.
        """
        since = 0 if ring is None else ring.since
        rounds = [each for each in self.recent if each.number >= since]
        scores = np.sum([each.people for each in rounds], axis=0).sum(axis=2) if rounds else self.people * 0
        finite = start.thresholds[np.isfinite(start.thresholds)]
        middle = finite.mean() if finite.size else 0.0
        nearest = sorted(self.spec.allowed.tolist(), key=lambda each: (abs(each - middle), each))
        candidates = [start, *(Policy.shared([each], self._groups) for each in nearest)]
        total, grid = scores.sum(axis=1), self.spec.setting.thresholds
        taken = [np.rint((scores * each.accepted_share(grid)[0]).sum(axis=1)).astype(int) for each in candidates]
        alpha = self.spec.guards.alpha / len(candidates)
        place, safe = 0, "unknown"
        if total.all() and self.watched:
            parts = [not place or bool(((each > 0) & (each < total)).all()) for place, each in enumerate(taken)]
            judged = [
                _judged(self.watched, each, total, alpha) if part else "unsafe"
                for each, part in zip(taken, parts, strict=True)
            ]
            place = next((place for place, each in enumerate(judged) if each != "unsafe"), 0)
            safe = judged[place]
        first = rounds[0].number if rounds else None
        about = f"the {total.sum():,} applicants since round {first}"
        whose = "the nearest to the starting policy that meets" if place else "it meets"
        words = {
            "unknown": "whether it meets the constraints now cannot be judged",
            "unsafe": f"no threshold within the guards meets every watched constraint for {about}, so look at once",
            "confirmed": f"{whose} every watched constraint for {about}",
            "estimated": f"{whose} every watched constraint for {about}, but they are too few to confirm it",
        }
        evidence = {
            "watch": "" if ring is None else f"{ring.kind} {ring.name}",
            "strength": None if ring is None else ring.evidence,
            "limit": self.limit,
            "since": first,
            "groups": [list(each) for each in zip(total.tolist(), taken[place].tolist(), strict=True)],
            "safe": safe,
        }
        return Retreat(candidates[place], words[safe], evidence)

    # Keeping.

    def save(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "constraints": self.constraints.save(),
            "changes": self.changes.save(),
            "people": self.people.tolist(),
            "labels": self.labels.tolist(),
            "recent": [
                [each.number, np.argwhere(each.people).tolist(), each.people[each.people > 0].tolist()]
                + [part.tolist() for part in each[2:]]
                for each in self.recent
            ],
            "alarms": {name: list(each) for name, each in self.alarms.items()},
        }

    def load(self, saved: dict[str, Any]) -> None:
        """Take what :meth:`save` gave."""
        self.constraints, self.changes = (Detector.load(saved[name]) for name in ("constraints", "changes"))
        self.people, self.labels = (np.array(saved[name], dtype=np.int64) for name in ("people", "labels"))
        for number, places, people, *rates in saved["recent"]:
            came = np.zeros((*self.people.shape, 2), dtype=np.int64)
            came[tuple(np.reshape(places, (-1, 3)).astype(int).T)] = people
            self.recent.append(Round(number, came, *map(np.array, rates)))
        self.alarms = {name: Ring(*each) for name, each in saved["alarms"].items()}


def pieces_of(spec: Spec) -> list[Piece]:
    """Return the straight lines of all constraints that look at decisions alone."""
    found = []
    for constraint in spec.setting.problem.constraints:
        pieces = constraint.pieces(len(spec.groups)) if constraint.needs == "decisions" else None
        for name, piece in zip(constraint.names, pieces or (), strict=bool(pieces)):
            rows = np.asarray(piece.rows)[:, : 1 + len(spec.groups)]
            found += [Piece(constraint, name, row, float(piece.limit)) for row in rows]
    return found


def _judged(constraints: list[Constraint], taken: NDArray[Any], people: NDArray[Any], alpha: float) -> str:
    """Judge a policy that accepts so many people of each group: unsafe, estimated or confirmed."""
    counts = Counts.of_decisions(people[None].astype(np.float64), taken[None].astype(np.float64))
    if any(float(np.max(residual)) > 0.0 for each in constraints for residual in each.residuals(counts)):
        return "unsafe"
    hits, tries = np.append(taken.sum(), taken), np.append(people.sum(), people)
    low, high = rate_bounds(hits, tries, alpha / len(tries))
    unknown = np.zeros(2 * len(people))
    known = RateBounds(np.append(low, unknown), np.append(high, unknown + 1.0))
    bounds = [residual_bounds(each, known) for each in constraints]
    return "confirmed" if all(each is not None and (each[1] <= 0.0).all() for each in bounds) else "estimated"
