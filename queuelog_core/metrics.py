"""Numbers for CloudWatch: one JSON line of the embedded metric format, which needs no call."""

from collections.abc import Mapping

from queuelog_core.documents import compact
from queuelog_core.job import Status
from queuelog_core.stores import Stats

NAMESPACE = "queuelog"
_SECONDS = frozenset({"OldestDueAgeSeconds"})


def metric_line(stage: str, values: Mapping[str, float], now: int) -> str:
    """The line that makes each value a metric of this stage; `now` in ms."""
    units = [{"Name": name, "Unit": "Seconds" if name in _SECONDS else "Count"} for name in values]
    described = {"Namespace": NAMESPACE, "Dimensions": [["Stage"]], "Metrics": units}
    meta = {"Timestamp": now, "CloudWatchMetrics": [described]}
    return compact({"_aws": meta, "Stage": stage, **values})


def queue_metrics(stats: Stats, now: int) -> dict[str, float]:
    """What alarms watch: how long the oldest due job waits, jobs by state, leases, late reports."""
    oldest = min((at for at in stats.oldest_due_at.values() if at is not None), default=now)
    counts = stats.statuses.values()
    return {
        "OldestDueAgeSeconds": max(0, now - oldest) / 1000,
        "DueJobs": stats.due.count,
        "DelayedJobs": stats.delayed.count,
        "RunningJobs": sum(count.get(Status.RUNNING, 0) for count in counts),
        "DeadJobs": sum(count.get(Status.FAILED, 0) for count in counts),
        "ExpiredLeases": stats.expired_leases.count,
        "LateReports": stats.late_reports,
    }
