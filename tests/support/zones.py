"""Time zones as POSIX writes them: they need no files of the machine, which may have none."""

KATHMANDU = "<+0545>-5:45"
ST_JOHNS = "NST3:30NDT,M3.2.0,M11.1.0"
CHATHAM = "<+1245>-12:45<+1345>,M9.5.0/2:45,M4.1.0/3:45"
PARIS = "CET-1CEST,M3.5.0,M10.5.0/3"
NEW_YORK = "EST5EDT,M3.2.0,M11.1.0"

CHANGES = {
    "Paris, an hour is left out": (PARIS, "2037-03-29T01:00:00Z", 3600),
    "Paris, an hour comes twice": (PARIS, "2037-10-25T01:00:00Z", -3600),
    "New York, an hour is left out": (NEW_YORK, "2037-03-08T07:00:00Z", 3600),
    "New York, an hour comes twice": (NEW_YORK, "2037-11-01T06:00:00Z", -3600),
}
"""A zone, the instant at which its clocks are changed, and by how many seconds."""
