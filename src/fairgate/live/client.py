"""Client: the calls of a gate over HTTP, with the same replies and the same errors."""

from __future__ import annotations

import json
import random
import re
import time
import uuid
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, overload

import httpx
from pydantic import TypeAdapter

from fairgate.errors import InputError
from fairgate.live.auditing.report import AuditReport
from fairgate.live.failures import ConflictError, ForbiddenError, MissingError, UnavailableError, UnknownKeyError
from fairgate.live.replies import CaseFacts, Closed, Decision, Decisions, Figures, LogEvent, Recorded, Rotated, Status
from fairgate.live.spec import NAME, Mode

T = TypeVar("T")

ERRORS: Mapping[int, type[Exception]] = {
    401: UnknownKeyError,
    403: ForbiddenError,
    404: MissingError,
    409: ConflictError,
    429: UnavailableError,
    500: UnavailableError,
    502: UnavailableError,
    503: UnavailableError,
    504: UnavailableError,
}
"""The error that a status is; any other refusal is an `InputError`."""

AGAIN = (429, 502, 503, 504)
"""Statuses after which a request is sent again."""


class Client:
    """A gate behind a service. Requests that meet no answer, a 429 or a 503 are sent again, under the same key.

    Parameters
    ----------
    base_url
        Where the service is, such as ``http://127.0.0.1:8000``.
    gate
        The gate's name.
    token
        A key with the scopes that the calls need.
    retries
        How often a request is sent again; the waits double, from a tenth of a second up to five seconds.
    timeout
        Seconds to wait for an answer.
    transport
        Another way to the service than the network, for tests.
    """

    def __init__(
        self,
        base_url: str,
        gate: str,
        token: str,
        *,
        retries: int = 6,
        timeout: float = 30.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        if not base_url.startswith(("http://", "https://")):
            raise InputError(f"base_url must begin with http:// or https://, got {base_url!r}")
        if not re.fullmatch(NAME, gate):
            raise InputError(f"gate must be the name of a gate: letters, digits, _ and -, got {gate[:80]!r}")
        self._path = f"/v1/gates/{gate}"
        self._retries = retries
        self._http = httpx.Client(
            base_url=base_url,
            headers={"Authorization": f"Bearer {token}"},
            timeout=timeout,
            transport=transport,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shut()

    def shut(self) -> None:
        """Close the connections."""
        self._http.close()

    @overload
    def decide(
        self, ids: str, groups: str, scores: float, *, subjects: str | None = None, key: str | None = None
    ) -> Decision: ...
    @overload
    def decide(
        self,
        ids: Sequence[str],
        groups: Sequence[str],
        scores: Sequence[float],
        *,
        subjects: Sequence[str | None] | None = None,
        key: str | None = None,
    ) -> Decisions: ...
    def decide(self, ids: Any, groups: Any, scores: Any, *, subjects: Any = None, key: str | None = None) -> Any:
        """Decide on one application or on many.

        One that is sent again is known by its id; give a key if the gate keeps counts only.
        """
        if isinstance(ids, str):
            body = {"id": ids, "group": groups, "score": float(scores)}
            body |= {} if subjects is None else {"subject": subjects}
            return self._post("/decisions", Decision, body, key, new_key=False)
        columns = people_columns(ids, groups, scores, subjects)
        return self._post("/decisions/batch", Decisions, columns, key)

    def report(
        self,
        ids: Sequence[str],
        groups: Sequence[str],
        scores: Sequence[float],
        accepted: Sequence[bool],
        *,
        subjects: Sequence[str | None] | None = None,
        key: str | None = None,
    ) -> Recorded:
        """Record decisions that the operator's own rule made, in the mode shadow."""
        columns = people_columns(ids, groups, scores, subjects)
        return self._post("/reports", Recorded, {**columns, "accepted": [bool(each) for each in accepted]}, key)

    def outcomes(
        self,
        ids: Sequence[str] = (),
        labels: Sequence[int] = (),
        *,
        round_number: int | None = None,
        groups: Sequence[str] = (),
        scores: Sequence[float] = (),
        key: str | None = None,
    ) -> Recorded:
        """Record what came of accepted applications: 1 is good. A gate that keeps counts takes rounds and scores."""
        plain = [int(each) for each in labels]
        if round_number is None:
            return self._post("/outcomes", Recorded, {"ids": list(ids), "labels": plain}, key)
        counts = {"groups": list(groups), "scores": [float(score) for score in scores], "labels": plain}
        return self._post("/outcomes", Recorded, {"round": round_number, **counts}, key)

    def correct(self, ids: Sequence[str], labels: Sequence[int], reason: str, *, key: str | None = None) -> Recorded:
        """Correct labels that were wrong."""
        body = {"ids": list(ids), "labels": [int(each) for each in labels], "reason": reason}
        return self._post("/corrections", Recorded, body, key)

    def override(self, name: str, accepted: bool, reason: str, *, key: str | None = None) -> Decision:
        """Put a person's decision in place of the gate's."""
        return self._post("/overrides", Decision, {"id": name, "accepted": bool(accepted), "reason": reason}, key)

    def close(self, round_number: int | None = None, *, key: str | None = None) -> Closed:
        """Close a round; without a number, the one that is open."""
        path = "/rounds/close" if round_number is None else f"/rounds/{int(round_number)}/close"
        return self._post(path, Closed, None, key)

    def set_mode(
        self,
        mode: Mode,
        reason: str,
        threshold: float | list[float] | None = None,
        *,
        successor: str = "",
        key: str | None = None,
    ) -> Status:
        """Change who decides; in the mode shadow perhaps another gate, the `successor`."""
        body = {"mode": mode, "reason": reason, "threshold": threshold}
        return self._post("/mode", Status, body | ({"successor": successor} if successor else {}), key)

    def hold(self, reason: str, threshold: float | list[float] | None = None) -> Status:
        """Keep to a fixed policy: the one in force, or a threshold of the grid."""
        return self.set_mode("hold", reason, threshold)

    def resume(self, reason: str) -> Status:
        """Let the learner decide."""
        return self.set_mode("learn", reason)

    def approve(self, waiting: str, reason: str, *, key: str | None = None) -> Status:
        """Approve the proposal that waits."""
        return self._post("/approvals", Status, {"waiting": waiting, "reason": reason}, key)

    def rotate_secret(self, reason: str, *, key: str | None = None) -> Rotated:
        """Give the gate a new secret; the open round is closed first."""
        return self._post("/secret", Rotated, {"reason": reason}, key)

    def status(self) -> Status:
        """Return what is in force now."""
        return self._get("", Status)

    def figures(self, rounds: int = 200, *, whole: bool = False) -> Figures:
        """Return everything the page shows, with the last rounds, or with at most so many of the whole history."""
        return self._get("/figures", Figures, rounds=rounds, whole=whole)

    def case(self, name: str) -> CaseFacts:
        """Return why an application was accepted or rejected."""
        return self._get("/case", CaseFacts, id=name)  # a path could not carry ".."

    def cases(self, after: tuple[int, int] = (0, -1), limit: int = 100) -> list[CaseFacts]:
        """Return applications in the order they were decided, those after an event and a place in it."""
        return self._get("/cases", list[CaseFacts], after=after[0], place=after[1], limit=limit)

    def log(self, after: int = 0, limit: int = 100, *, newest: bool = False, kind: str | None = None) -> list[LogEvent]:
        """Return events after a number; the `newest` before it (or of all, if 0) first, if that is asked for."""
        more = {} if kind is None else {"kind": kind}
        return self._get("/log", list[LogEvent], after=after, limit=limit, newest=newest, **more)

    def snapshot(self) -> dict[str, Any]:
        """Return everything the gate knows as plain data."""
        return self._get("/snapshot", dict[str, Any])

    def audit(self) -> AuditReport:
        """Have the service recompute every hash, draw, decision, count and policy."""
        return self._get("/audit", AuditReport)

    def _get(self, path: str, reply: type[T], **query: int | str) -> T:
        return self._read(self._send(self._http.build_request("GET", self._path + path, params=query)), reply)

    def _post(self, path: str, reply: type[T], body: Any, key: str | None, *, new_key: bool = True) -> T:
        """Send a body; without a key it gets a new one, so that it can be sent again."""
        used = key or (uuid.uuid4().hex if new_key else None)
        headers = {"Content-Type": "application/json"} | ({} if used is None else {"Idempotency-Key": used})
        content = json.dumps(body)  # which also writes NaN; the service says what is wrong with it
        request = self._http.build_request("POST", self._path + path, content=content, headers=headers)
        return self._read(self._send(request), reply)

    def _send(self, request: httpx.Request) -> httpx.Response:
        """Send a request, again if there is no answer or the database is away."""
        for left in range(self._retries, -1, -1):
            try:
                response = self._http.send(request)
            except httpx.TransportError as error:
                if not left:
                    raise UnavailableError(f"{request.url} does not answer: {error}") from error
            else:
                if response.status_code not in AGAIN or not left:
                    return response
            time.sleep(min(5.0, 0.1 * 2 ** (self._retries - left)) * random.uniform(0.5, 1.0))
        raise UnavailableError(f"{request.url} was not asked: retries must be at least 0, got {self._retries}")

    @staticmethod
    def _read(response: httpx.Response, reply: type[T]) -> T:
        """Return the reply, or raise the error that the service answered with."""
        if response.is_success:
            return TypeAdapter(reply).validate_json(response.content)
        try:
            sentence = str(response.json()["detail"])
        except (ValueError, KeyError, TypeError):
            sentence = f"{response.request.url} answered {response.status_code} {response.reason_phrase}"
        raise ERRORS.get(response.status_code, InputError)(sentence)


def people_columns(
    ids: Sequence[str], groups: Sequence[str], scores: Sequence[float], subjects: Sequence[str | None] | None
) -> dict[str, Any]:
    """Return the columns of a body with many applications."""
    columns = {"ids": list(ids), "groups": list(groups), "scores": [float(score) for score in scores]}
    return columns | ({} if subjects is None else {"subjects": list(subjects)})
