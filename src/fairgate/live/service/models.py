"""Models: the bodies of requests. Nothing is converted: a number is not a text, and nothing unknown is let in."""

from __future__ import annotations

import json
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, FailFast, Field, StringConstraints, ValidationError, field_validator
from starlette.exceptions import HTTPException
from starlette.requests import Request

from fairgate.errors import InputError
from fairgate.live.requests import LONGEST_ID
from fairgate.live.service.lanes import lanes_of
from fairgate.live.service.structure import LARGEST_BATCH, check_structure, count_fields
from fairgate.live.spec import Mode, Name, first_fault, shorten

SMALL = 16_384
"""Bytes of a body that is parsed at once: that takes less time than to hand it to another thread."""

MOST_GROUPS = 1000
"""Thresholds in one request."""

LARGEST_ROUND = 2**31 - 1
LARGEST_SEQ = 2**63 - 1

PRINTABLE = r"^[^\x00-\x1f\x7f]*$"
Id = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_ID, pattern=PRINTABLE)]
"""The id of an application: some text without control characters."""

Subject = Annotated[
    Id | None,
    Field(
        description="A pseudonym of the person, for gates with subjects: the same one within a period meets the same "
        "lottery number, and the first decision. It is stored as a keyed hash only."
    ),
]
Group = Annotated[str, StringConstraints(min_length=1, max_length=100)]
Reason = Annotated[str, StringConstraints(min_length=1, max_length=1000, pattern=PRINTABLE)]
Label = Annotated[int, Field(ge=0, le=1)]
Round = Annotated[int, Field(ge=0, le=LARGEST_ROUND)]

BATCH = Field(min_length=1, max_length=LARGEST_BATCH)
Ids = Annotated[list[Id], BATCH, FailFast()]
Groups = Annotated[list[Group], BATCH, FailFast()]
Scores = Annotated[list[float], BATCH, FailFast()]
Subjects = Annotated[list[Subject], BATCH, FailFast()]
Labels = Annotated[list[Label], BATCH, FailFast()]


class Body(BaseModel):
    """Base of all bodies."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class Application(Body):
    """One application to decide on."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"id": "a-1", "group": "women", "score": 0.62, "subject": "p-7"}]}
    )

    id: Id
    group: Group
    score: float
    subject: Subject = None


class Applications(Body):
    """Applications to decide on, by columns of equal length."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"ids": ["a-1", "a-2"], "groups": ["women", "men"], "scores": [0.62, 0.4], "subjects": ["p-7", None]}
            ]
        }
    )

    ids: Ids
    groups: Groups
    scores: Scores
    subjects: Subjects = []


class Reported(Body):
    """Decisions that the operator's own rule made, by columns of equal length."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"ids": ["a-1"], "groups": ["women"], "scores": [0.62], "accepted": [True], "subjects": ["p-7"]}
            ]
        }
    )

    ids: Ids
    groups: Groups
    scores: Scores
    accepted: Annotated[list[bool], BATCH, FailFast()]
    subjects: Subjects = []


class Outcomes(Body):
    """Labels of accepted applications: 1 is the good outcome."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"ids": ["a-1"], "labels": [1]}]})

    ids: Ids
    labels: Labels


class OutcomeCounts(Body):
    """Labels for a gate that keeps no applications: of people accepted in one round, by group and score."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"round": 3, "groups": ["women"], "scores": [0.62], "labels": [1]}]}
    )

    round: Round
    groups: Groups
    scores: Scores
    labels: Labels


class Corrections(Body):
    """Labels that were wrong, as they should be."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"ids": ["a-1"], "labels": [0], "reason": "the loan was sold, not repaid"}]}
    )

    ids: Ids
    labels: Labels
    reason: Reason


class Override(Body):
    """A person's decision in place of the gate's."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"id": "a-1", "accepted": True, "reason": "appeal upheld"}]}
    )

    id: Id
    accepted: bool
    reason: Reason


class ModeChange(Body):
    """Who decides from now on; `threshold` is for the mode hold, one of the grid, or one per group.

    In the mode shadow, `successor` is the gate that decides instead of this one, which then takes outcomes alone.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"mode": "hold", "reason": "quarterly review", "threshold": 0.5, "successor": None}]
        }
    )

    mode: Mode
    reason: Reason
    threshold: float | Annotated[list[float], Field(min_length=1, max_length=MOST_GROUPS)] | None = None
    successor: Name | None = None

    @field_validator("threshold", mode="before")
    @classmethod
    def refuse_too_many(cls, given: Any) -> Any:
        """Say so plainly; what takes one number or several would say that it is not one."""
        if isinstance(given, list) and len(given) > MOST_GROUPS:
            raise ValueError(f"must be at most {MOST_GROUPS} numbers")
        return given


class NewSecret(Body):
    """A new secret of the gate: why."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"reason": "somebody left who could read the database"}]})

    reason: Reason


class Approval(Body):
    """Consent to the proposal that waits; `waiting` is its digest in the status."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"waiting": "5f2a90c1d3e4", "reason": "discussed on Monday"}]}
    )

    waiting: Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[0-9a-f]*$")]
    reason: Reason


B = TypeVar("B", bound=Body)


async def read(request: Request, model: type[B]) -> B:
    """Return the body of a request, or say what is wrong with it."""
    media = request.headers.get("content-type", "")
    if media != "application/json" and media.partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(415, f"content-type must be application/json, got {shorten(repr(media))}")
    coding = request.headers.get("content-encoding", "identity")
    if coding != "identity":
        raise HTTPException(
            415, f"content-encoding must not be given: send the body as it is, got {shorten(repr(coding))}"
        )
    raw = await request.body()
    if len(raw) <= SMALL:
        return parse(raw, model)
    return await lanes_of(request).bodies.run(parse, raw, model)


def parse(raw: bytes, model: type[B]) -> B:
    """Return the body that some bytes are, or say what is wrong with them first."""
    check_structure(raw)
    try:
        found = model.model_validate_json(raw)
    except ValidationError as error:
        told = first_fault(error, "the body")
        raise InputError(told.replace(f"match pattern '{PRINTABLE}'", "have no control characters")) from None
    given = len(found.model_fields_set)
    if raw.count(b":") > given and count_fields(raw) > given:  # the first is quick, and counts those in texts too
        refuse_repeated(raw)
    return found


def refuse_repeated(raw: bytes) -> None:
    """Refuse a body that has a field twice, of which the parser keeps the last."""

    def once(pairs: list[tuple[str, Any]]) -> None:
        names = [name for name, _ in pairs]
        again = next((name for name in names if names.count(name) > 1), None)
        if again is not None:
            raise InputError(f"{shorten(again)}: field must be given once, got it twice")

    json.loads(raw, object_pairs_hook=once)
