"""Metrics for Prometheus: gates as their logs have them, so that restarts change nothing, and what this process did."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import accumulate
from platform import python_version
from typing import get_args

from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fairgate import __version__
from fairgate.errors import InputError
from fairgate.live.failures import UnavailableError
from fairgate.live.gate import Gate
from fairgate.live.measuring import SECONDS, Measures
from fairgate.live.service.gates import Gates
from fairgate.live.service.logs import Journal
from fairgate.live.spec import Mode

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
"""Methods that metrics and log name; all others are "other"."""


class Metrics:
    """The metrics of one app, in a separate registry."""

    def __init__(self, gates: Gates) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(GateCollector(gates))
        self._times = Histogram(
            "fairgate_http_request_seconds",
            "Time from the request to the end of its response.",
            ["method", "route", "status"],
            buckets=SECONDS,
            registry=self._registry,
        )
        self._children: dict[tuple[str, str, int], Histogram] = {}

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """Note the time of a request; the status is kept by its hundreds."""
        place = (method, route, status // 100)
        child = self._children.get(place)
        if child is None:
            child = self._children[place] = self._times.labels(method, route, f"{status // 100}xx")
        child.observe(seconds)

    def written(self) -> bytes:
        """Return all metrics as Prometheus reads them; this asks the database."""
        return generate_latest(self._registry)


class GateCollector(Collector):
    """Numbers of all gates, read when they are asked for."""

    def __init__(self, gates: Gates) -> None:
        self._gates = gates

    def describe(self) -> list[Metric]:
        """Return nothing: names are known without asking the database."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Read the numbers of each gate: one query for all, and one more for those that another process wrote to."""
        open_gates: dict[str, Gate] = {}
        found: dict[str, Measures] = {}
        up = GaugeMetricFamily(
            "fairgate_database_up", "Whether the gate can be read, and its last commit was written.", labels=["gate"]
        )
        try:
            rows = self._gates.rows()
        except UnavailableError:
            rows = {}
        for name in self._gates:
            try:
                gate = open_gates[name] = self._gates[name]
                row = rows.get(gate.number)
                if row is None or row.secret != gate.secret:
                    raise UnavailableError("the database is away, or another gate is in its place")
                if 0 < gate.last < row.last:
                    gate.read()
            except (UnavailableError, InputError):
                up.add_metric([name], 0)
                continue
            up.add_metric([name], not gate.trouble)
            measures = gate.measures
            if measures is not None:
                found[name] = measures
        yield up
        yield InfoMetricFamily("fairgate_build", "Versions.", {"version": __version__, "python": python_version()})
        yield from of_logs(found)
        yield from of_process(open_gates)


def of_logs(found: dict[str, Measures]) -> Iterator[Metric]:
    """Write the numbers that the logs have, which are the same in all processes."""
    decisions = CounterMetricFamily(
        "fairgate_decisions", "Decisions of closed rounds, by group.", labels=["gate", "group", "decision"]
    )
    labels = CounterMetricFamily("fairgate_labels", "Labels that arrived.", labels=["gate"])
    events = CounterMetricFamily("fairgate_events", "Events of the log.", labels=["gate"])
    rounds = CounterMetricFamily("fairgate_rounds_closed", "Rounds that were closed.", labels=["gate"])
    awaited = GaugeMetricFamily("fairgate_labels_awaited", "Labels of accepted people not there yet.", labels=["gate"])
    late = GaugeMetricFamily("fairgate_labels_late", "Awaited labels that are late.", labels=["gate"])
    alarms = GaugeMetricFamily("fairgate_alarms", "Alarms that an operator should see.", labels=["gate"])
    paused = GaugeMetricFamily("fairgate_paused", "Whether learning is paused.", labels=["gate"])
    mode = GaugeMetricFamily("fairgate_mode", "1 for the mode in force.", labels=["gate", "mode"])
    for name, measures in found.items():
        for group in measures.groups:
            decisions.add_metric([name, group.name, "accepted"], group.accepted)
            decisions.add_metric([name, group.name, "rejected"], group.people - group.accepted)
        labels.add_metric([name], measures.arrived)
        events.add_metric([name], measures.events)
        rounds.add_metric([name], measures.rounds)
        awaited.add_metric([name], measures.awaited)
        late.add_metric([name], measures.late)
        alarms.add_metric([name], measures.alarms)
        paused.add_metric([name], measures.paused)
        for each in get_args(Mode):
            mode.add_metric([name, each], each == measures.mode)
    yield from (decisions, labels, events, rounds, awaited, late, alarms, paused, mode)


def of_process(gates: dict[str, Gate]) -> Iterator[Metric]:
    """Write the numbers that this process has; commits of all gates are together, or there would be too many lines."""
    waiting = GaugeMetricFamily("fairgate_requests_waiting", "Requests that wait to be written.", labels=["gate"])
    waited = GaugeMetricFamily(
        "fairgate_oldest_request_seconds", "How long the oldest of them has waited.", labels=["gate"]
    )
    failures = CounterMetricFamily(
        "fairgate_write_failures", "Commits that the database did not take.", labels=["gate"]
    )
    outside = CounterMetricFamily(
        "fairgate_scores_outside", "Scores outside the range, by what became of them.", labels=["gate", "outcome"]
    )
    counts, seconds = [0] * (len(SECONDS) + 1), 0.0
    for name, gate in gates.items():
        waiting.add_metric([name], gate.waiting)
        waited.add_metric([name], gate.waited)
        failures.add_metric([name], gate.commits.failures)
        for outcome in ("refused", "clipped"):
            outside.add_metric([name, outcome], gate.outside[outcome])
        counts = [one + more for one, more in zip(counts, gate.commits.counts, strict=True)]
        seconds += gate.commits.seconds
    bounds = [str(bound) for bound in (*SECONDS, "+Inf")]
    commits = HistogramMetricFamily(
        "fairgate_commit_seconds",
        "Time of a transaction that answers the requests that waited, until it is on disk.",
        buckets=list(zip(bounds, accumulate(counts), strict=True)),
        sum_value=seconds,
    )
    yield from (waiting, waited, failures, outside, commits)


class Timed:
    """Notes how long each request takes, and logs it if it is refused or slow."""

    def __init__(self, app: ASGIApp, metrics: Metrics, journal: Journal) -> None:
        self._app = app
        self._metrics = metrics
        self._journal = journal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and note its time under the template of its route."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        start, status = time.perf_counter(), 500

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            route = getattr(scope.get("route"), "path", "none")
            method, seconds = scope["method"] if scope["method"] in METHODS else "other", time.perf_counter() - start
            self._metrics.note(method, route, status, seconds)
            self._journal.note(scope, method, route, status, seconds)
