"""Fixtures that tests of the live gate share."""

from __future__ import annotations

from tests.live.databases import database_url, one_database, postgresql, postgresql_url

__all__ = ["database_url", "one_database", "postgresql", "postgresql_url"]
