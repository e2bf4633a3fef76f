"""Audit: what decisions that anybody made, by any system, say about fairness and service, looked at continuously."""

from fairgate.audit.audit import Audit, audit

__all__ = ["Audit", "audit"]
