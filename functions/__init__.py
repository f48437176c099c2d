"""Lambda entry points, one per group of routes. No logic: see queuelog_core/http/."""
