"""Reasons: why requests are refused, for the log, without any value of a request."""

from __future__ import annotations

import ast
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple

from starlette.types import Scope

from fairgate.live.failures import ForbiddenError

USUAL = {
    401: "the key is unknown, revoked, expired or missing",
    404: "the path is unknown",
    413: "the body is too large",
    422: "the body or a parameter does not fit",
    500: "the service met an internal error",
}
"""Why requests are refused, by status, for errors without a sentence in the source."""


class Refusal(NamedTuple):
    """Why a request is refused, if the source has a sentence for it, and the name of the key, if it is known."""

    reason: str
    key: str = ""


def note_refusal(scope: Scope, error: Exception) -> None:
    """Keep for the log why a request is refused."""
    scope["refusal"] = Refusal(reason_of(error), error.key if isinstance(error, ForbiddenError) else "")


def reason_of(error: Exception) -> str:
    """Return the sentence of an error as the source has it, with … for each value; nothing if there is none.

    A text that comes from the source alone cannot hold a score, a group or an id.

    >>> from fairgate.live.keys import checked_name
    >>> try:
    ...     checked_name("?" * 70)
    ... except Exception as error:
    ...     reason_of(error)
    'name must be 1 to 60 letters, digits, spaces or any of . _ @ -, got …'
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return ""
    line = trace.tb_lineno
    return next((text for low, high, text in sentences(trace.tb_frame.f_code.co_filename) if low <= line <= high), "")


def usual(status: int) -> str:
    """Return why requests are refused with a status.

    >>> usual(422), usual(429)
    ('the body or a parameter does not fit', 'too many requests')
    """
    return USUAL.get(status) or HTTPStatus(status).phrase.lower()


@cache
def sentences(file: str) -> list[tuple[int, int, str]]:
    """Return the sentences of the errors that a file raises, each with its first and last line."""
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError):
        return []
    found = []
    for each in ast.walk(tree):
        if isinstance(each, ast.Raise) and isinstance(each.exc, ast.Call):
            text = next((text for text in map(literal, each.exc.args) if any(map(str.isalpha, text))), "")
            maker = each.exc.func.id if isinstance(each.exc.func, ast.Name) else ""
            if maker.islower():  # a function that makes the error, unknown_name("group", …)
                text = f"{maker.replace('_', ' ')}: {text}" if text else maker.replace("_", " ")
            found.append((each.lineno, each.end_lineno or each.lineno, text))
    return found


def literal(node: ast.expr) -> str:
    """Return the fixed parts of a text, with … between them; an empty one for anything else.

    >>> literal(ast.parse("f'the key {name!r} is for {scopes}'", mode="eval").body)
    'the key … is for …'
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(literal(each) or "…" for each in node.values)
    return ""
