"""The embedded metric format of CloudWatch, checked by hand against its specification."""

import json
from typing import Any

UNITS = {"Seconds", "Count"}
METRICS_MAX, NAME_CHARS_MAX = 100, 1024


def metrics_of(line: str) -> dict[str, float]:
    """Metric to value of one line, which must be a whole and valid document with one directive."""
    assert "\n" not in line
    document: dict[str, Any] = json.loads(line)
    meta = document["_aws"]
    assert meta.keys() == {"Timestamp", "CloudWatchMetrics"}
    assert type(meta["Timestamp"]) is int
    (directive,) = meta["CloudWatchMetrics"]
    assert directive.keys() == {"Namespace", "Dimensions", "Metrics"}
    assert 0 < len(directive["Namespace"]) <= 256
    for dimensions in directive["Dimensions"]:
        for name in dimensions:
            assert isinstance(document[name], str) and document[name], name
    names = [metric["Name"] for metric in directive["Metrics"]]
    assert 0 < len(names) <= METRICS_MAX
    assert len(set(names)) == len(names)
    for metric in directive["Metrics"]:
        assert metric.keys() == {"Name", "Unit"}
        assert metric["Unit"] in UNITS
        assert 0 < len(metric["Name"]) <= NAME_CHARS_MAX
        assert type(document[metric["Name"]]) in (int, float), metric
    told = {*names, "_aws", *(name for each in directive["Dimensions"] for name in each)}
    assert told == document.keys(), "a member that is neither metric nor dimension"
    return {name: document[name] for name in names}
