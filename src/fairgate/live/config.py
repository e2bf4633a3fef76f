"""Config: what ``gate.toml`` says, the gate's spec and how it is served."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from fairgate.live.spec import Spec


class ServiceSettings(BaseModel):
    """How gates are served."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    database: str  # a file of SQLite, or the URL of a PostgreSQL database
    gates: list[Spec]
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    max_body: Annotated[int, Field(ge=1000)] = 8_000_000  # bytes of a request
    session_secret: Path | None = None  # file of the secret that sessions of the page are signed with
    behind_proxy: bool = False  # whether a proxy in front ends TLS and says who asks
