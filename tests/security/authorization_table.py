"""The authorization table: what everybody is answered, by route, method and state, by hand.

A heading names methods and a path. A row below it names a state of the job (`any`: every state and
an id that does not exist) or, on a path without an id, one of BODIES (`-`: no body), then an answer
for each caller; a single answer is for all of them. An answer is a status, or the code of a refusal
where one status has several. A new route is a new block.
"""

from typing import Any

CALLERS = {
    "none": "nobody",
    "empty": "an empty key",
    "junk": "an unknown key",
    "revoked": "a revoked key",
    "expired": "an expired key",
    "prodA": "its producer",
    "prodB": "another producer",
    "workA": "its worker",
    "workB": "another worker",
    "notype": "a worker of other types",
    "admin": "an admin",
}
# Name, role, highest priority and types; those that are dead could do everything once.
KEYS: dict[str, tuple[str, str, str, list[str] | None]] = {
    "revoked": ("gone", "admin", "critical", None),
    "expired": ("late", "admin", "critical", None),
    "prodA": ("shop", "producer", "high", ["email"]),
    "prodB": ("blog", "producer", "low", None),
    "workA": ("mailer", "worker", "medium", ["email"]),
    "workB": ("printer", "worker", "medium", None),
    "notype": ("painter", "worker", "medium", ["pdf"]),
    "admin": ("root", "admin", "critical", None),
}
UNFIT = ("none", "empty", "junk", "revoked", "expired")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
STATES = {
    "malformed": "an id that is none",
    "absent": "a job that does not exist",
    "pending": "a pending job",
    "delayed": "a delayed job",
    "lapsed": "a job that waits again since its lease ran out",
    "running": "a running job",
    "overdue": "a running job whose lease has run out",
    "held": "a job that an admin runs",
    "completed": "a completed job",
    "failed": "a failed job",
    "cancelled": "a cancelled job",
}
BODIES: dict[str, dict[str, Any]] = {
    "POST /jobs": {
        "email": {"type": "email"},
        "pdf": {"type": "pdf"},
        "high": {"type": "email", "priority": "high"},
        "off-list": {"type": "fax"},
        "known": {"type": "email", "idempotency_key": "known-key"},
        "no-object": [],
    },
    "POST /jobs/claim": {
        "email": {"types": ["email"]},
        "pdf": {"types": ["pdf"]},
        "sync": {"types": ["sync"]},
        "off-list": {"types": ["fax"]},
        "no-object": [],
    },
    "POST /jobs/{id}/complete": {"any": {"attempt": 1, "result": "secret-result"}},
    "POST /jobs/{id}/fail": {"any": {"attempt": 1, "error": "secret-error", "retryable": False}},
}

TABLE = """
              none empty junk revoked expired prodA prodB workA workB notype admin

POST /jobs
    email     401  401   403  403     403     201   201   403   403   403    201
    pdf       401  401   403  403     403     403   201   403   403   403    201
    high      401  401   403  403     403     201   priority-not-allowed 403 403 403 201
    off-list  401  401   403  403     403     422   422   403   403   403    422
    known     401  401   403  403     403     200   201   403   403   403    201
    no-object 401  401   403  403     403     422   422   403   403   403    422
GET|HEAD /jobs
    -         401  401   403  403     403     200   200   200   200   200    200
PUT|PATCH|DELETE|OPTIONS /jobs
    -         405

POST /jobs/claim
    -         401  401   403  403     403     403   403   200   200   200    200
    email     401  401   403  403     403     403   403   200   200   403    200
    pdf       401  401   403  403     403     403   403   403   200   200    200
    sync      401  401   403  403     403     403   403   403   200   403    200
    off-list  401  401   403  403     403     403   403   422   422   422    422
    no-object 401  401   403  403     403     403   403   422   422   422    422
GET|HEAD|PUT|PATCH|DELETE|OPTIONS /jobs/claim
    -         405

GET|HEAD /jobs/{id}
    malformed 404
    absent    401  401   403  403     403     404   404   404   404   404    404
    pending   401  401   403  403     403     200   404   200   200   404    200
    delayed   401  401   403  403     403     200   404   200   200   404    200
    lapsed    401  401   403  403     403     200   404   200   200   404    200
    running   401  401   403  403     403     200   404   200   200   404    200
    overdue   401  401   403  403     403     200   404   200   200   404    200
    held      401  401   403  403     403     200   404   200   200   404    200
    completed 401  401   403  403     403     200   404   200   200   404    200
    failed    401  401   403  403     403     200   404   200   200   404    200
    cancelled 401  401   403  403     403     200   404   200   200   404    200
POST|PUT|PATCH|DELETE|OPTIONS /jobs/{id}
    malformed 404
    any       405

POST /jobs/{id}/complete
    malformed 404
    absent    401  401   403  403     403     403   403   409        409       409    409
    pending   401  401   403  403     403     403   403   409        409       409    409
    delayed   401  401   403  403     403     403   403   409        409       409    409
    lapsed    401  401   403  403     403     403   403   200        409       409    409
    running   401  401   403  403     403     403   403   200        not-owner 409    not-owner
    overdue   401  401   403  403     403     403   403   200        not-owner 409    not-owner
    held      401  401   403  403     403     403   403   not-owner  not-owner 409    200
    completed 401  401   403  403     403     403   403   200        409       409    409
    failed    401  401   403  403     403     403   403   already-reported 409 409    409
    cancelled 401  401   403  403     403     403   403   409        409       409    409
GET|HEAD|PUT|PATCH|DELETE|OPTIONS /jobs/{id}/complete
    malformed 404
    any       405

POST /jobs/{id}/fail
    malformed 404
    absent    401  401   403  403     403     403   403   409        409       409    409
    pending   401  401   403  403     403     403   403   409        409       409    409
    delayed   401  401   403  403     403     403   403   409        409       409    409
    lapsed    401  401   403  403     403     403   403   lease-lost 409       409    409
    running   401  401   403  403     403     403   403   200        not-owner 409    not-owner
    overdue   401  401   403  403     403     403   403   200        not-owner 409    not-owner
    held      401  401   403  403     403     403   403   not-owner  not-owner 409    200
    completed 401  401   403  403     403     403   403   already-reported 409 409    409
    failed    401  401   403  403     403     403   403   200        409       409    409
    cancelled 401  401   403  403     403     403   403   409        409       409    409
GET|HEAD|PUT|PATCH|DELETE|OPTIONS /jobs/{id}/fail
    malformed 404
    any       405

GET|HEAD /stats
    -         401  401   403  403     403     403   403   200   200   200    200
POST|PUT|PATCH|DELETE|OPTIONS /stats
    -         405
GET|HEAD /whoami
    -         401  401   403  403     403     200   200   200   200   200    200
POST|PUT|PATCH|DELETE|OPTIONS /whoami
    -         405
GET|HEAD /health
    -         200
POST|PUT|PATCH|DELETE|OPTIONS /health
    -         405
GET|HEAD /openapi.json
    -         200
POST|PUT|PATCH|DELETE|OPTIONS /openapi.json
    -         405
"""
REFUSALS = {
    "unauthorized": 401,
    "forbidden": 403,
    "priority-not-allowed": 403,
    "not-found": 404,
    "method-not-allowed": 405,
    "conflict": 409,
    "not-owner": 409,
    "lease-lost": 409,
    "already-reported": 409,
    "validation-failed": 422,
}
"""The codes with their statuses; a plain number in the table means the first code that has it."""

SEES = """
          prodA prodB workA workB notype admin
pending   yes   -     yes   yes   -      yes
delayed   yes   -     yes   yes   -      yes
lapsed    yes   -     yes   yes   -      yes
running   yes   -     yes   yes   -      yes
overdue   yes   -     yes   yes   -      yes
held      yes   -     yes   yes   -      yes
completed yes   -     yes   yes   -      yes
failed    yes   -     yes   yes   -      yes
cancelled yes   -     yes   yes   -      yes
blog-pdf  -     yes   -     yes   yes    yes
root-sync -     -     -     yes   -      yes
"""
"""Who finds which job in a list."""
_SHOP = "pending delayed lapsed running overdue held completed failed cancelled"
FILTERS = {
    "limit=1": f"{_SHOP} blog-pdf root-sync",
    "type=email": _SHOP,
    "type=pdf": "blog-pdf",
    "type=sync": "root-sync",
    "producer_id=shop": _SHOP,
    "producer_id=blog": "blog-pdf",
    "producer_id=root": "root-sync",
    "worker_id=mailer": "running overdue completed failed",
    "status=pending&order=asc": "pending delayed lapsed blog-pdf root-sync",
    "priority=critical": "root-sync",
}
"""The jobs that fit a query; a caller finds those of them that it sees."""

TOLD = """
      secret-payload secret-key secret-result secret-error
prodA yes            yes        yes           -
workA yes            -          yes           -
workB yes            -          -             -
admin yes            yes        yes           yes
"""
"""Who may read which word that stands in shop's jobs; anybody else reads none of them."""
FIELDS = {
    "secret-payload": ("running", "payload"),
    "secret-key": ("completed", "idempotency_key"),
    "secret-result": ("completed", "result"),
    "secret-error": ("failed", "error"),
}
"""A job and its field in which a word stands."""

NUMBERS = """
      pending running completed failed cancelled due delayed overdue waiting
email 3       3       1         1      1         2   1       1       medium
pdf   1       0       0         0      0         1   0       0       low
sync  1       0       0         0      0         1   0       0       critical
"""
"""What the statistics say of each type; `waiting` is the priority of its due jobs."""
RUNS = {
    "workA": ["email"],
    "workB": ["email", "pdf", "sync"],
    "notype": ["pdf"],
    "admin": ["email", "pdf", "sync"],
}
"""The types that a caller claims, and sees the numbers of."""
