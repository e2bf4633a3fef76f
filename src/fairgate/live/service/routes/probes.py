"""Probes: whether the process lives, whether it can work, and its metrics."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from fairgate.live.config import ServiceSettings
from fairgate.live.database import check
from fairgate.live.failures import ForbiddenError, UnknownKeyError
from fairgate.live.service.auth import KeyCache, bearer
from fairgate.live.service.gates import Gates
from fairgate.live.service.metrics import Metrics

LOOPBACK = {"127.0.0.1", "::1", "localhost"}

router = APIRouter(tags=["probes"])


class Health(BaseModel):
    """Whether all is well; anything else is a refusal."""

    status: Literal["ok"] = "ok"


@router.get("/health")
async def health() -> Health:
    """Whether the process lives."""
    return Health()
