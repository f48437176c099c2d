"""The scheduled upkeep. See queuelog_core/maintain.py."""

from queuelog_core.maintain import handler

__all__ = ["handler"]
