"""Auditing: every hash, draw, decision, count and policy of a log recomputed, from a database or an exported file."""

from fairgate.live.auditing.report import AuditReport, Finding

__all__ = ["AuditReport", "Finding"]
