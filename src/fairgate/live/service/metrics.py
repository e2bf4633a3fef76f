"""Metrics for Prometheus: gates as their figures have them, so that restarts change nothing, and times of requests."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import get_args

from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fairgate.errors import InputError
from fairgate.live.failures import UnavailableError
from fairgate.live.replies import Figures
from fairgate.live.service.gates import Gates
from fairgate.live.spec import Mode

SECONDS = (0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Bounds of the histogram of times."""


class Metrics:
    """The metrics of one app, in a registry of their own."""

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
    """Figures of all gates, read when they are asked for."""

    def __init__(self, gates: Gates) -> None:
        self._gates = gates

    def describe(self) -> list[Metric]:
        """Return nothing: names are known without asking the database."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Read the figures of each gate."""
        up = GaugeMetricFamily("fairgate_database_up", "Whether the gate's database answers.", labels=["gate"])
        found: dict[str, Figures] = {}
        for name in self._gates:
            try:
                found[name] = self._gates[name].figures(rounds=1)
            except (UnavailableError, InputError):  # it is away, or another gate is in its place
                up.add_metric([name], 0)
            else:
                up.add_metric([name], 1)
        yield up
        yield from families(found)


def families(found: dict[str, Figures]) -> Iterator[Metric]:
    """Write the figures of gates as metrics."""
    decisions = CounterMetricFamily("fairgate_decisions", "Decisions, by group.", labels=["gate", "group", "decision"])
    labels = CounterMetricFamily("fairgate_labels", "Labels that arrived.", labels=["gate"])
    events = CounterMetricFamily("fairgate_events", "Events of the log.", labels=["gate"])
    rounds = CounterMetricFamily("fairgate_rounds_closed", "Rounds that were closed.", labels=["gate"])
    awaited = GaugeMetricFamily("fairgate_labels_awaited", "Labels of accepted people not there yet.", labels=["gate"])
    late = GaugeMetricFamily("fairgate_labels_late", "Awaited labels that are late.", labels=["gate"])
    alarms = GaugeMetricFamily("fairgate_alarms", "Alarms that an operator should see.", labels=["gate"])
    mode = GaugeMetricFamily("fairgate_mode", "1 for the mode in force.", labels=["gate", "mode"])
    for name, figures in found.items():
        for group in figures.scopes[0].groups if figures.scopes else ():
            decisions.add_metric([name, group.name, "accepted"], group.accepted)
            decisions.add_metric([name, group.name, "rejected"], group.people - group.accepted)
        labels.add_metric([name], figures.labels.arrived)
        events.add_metric([name], figures.status.seq)
        rounds.add_metric([name], figures.status.round)
        awaited.add_metric([name], figures.labels.awaited)
        late.add_metric([name], figures.labels.late)
        alarms.add_metric([name], len(figures.alarms))
        for each in get_args(Mode):
            mode.add_metric([name, each], each == figures.status.mode.mode)
    yield from (decisions, labels, events, rounds, awaited, late, alarms, mode)


class Timed:
    """Notes how long each request takes."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

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
            self._metrics.note(scope["method"], route, status, time.perf_counter() - start)
