"""What each caller finds behind the doors that the authorization table opens to it, by hand."""

from tests.security.authorization_cells import rows

SEES = """
          prodA prodB workA workB notype admin
pending   yes   -     yes   yes   -      yes
delayed   yes   -     yes   yes   -      yes
lapsed    yes   -     yes   yes   -      yes
redriven  yes   -     yes   yes   -      yes
running   yes   -     yes   yes   -      yes
overdue   yes   -     yes   yes   -      yes
asked     yes   -     yes   yes   -      yes
held      yes   -     yes   yes   -      yes
completed yes   -     yes   yes   -      yes
failed    yes   -     yes   yes   -      yes
cancelled yes   -     yes   yes   -      yes
blog-pdf  -     yes   -     yes   yes    yes
root-sync -     -     -     yes   -      yes
"""
"""Who finds which job in a list."""
_SHOP = "pending delayed lapsed redriven running overdue asked held completed failed cancelled"
FILTERS = {
    "limit=1": f"{_SHOP} blog-pdf root-sync",
    "type=email": _SHOP,
    "type=pdf": "blog-pdf",
    "type=sync": "root-sync",
    "producer_id=shop": _SHOP,
    "producer_id=blog": "blog-pdf",
    "producer_id=root": "root-sync",
    "worker_id=mailer": "running overdue asked completed failed",
    "status=pending&order=asc": "pending delayed lapsed redriven blog-pdf root-sync",
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
email 4       4       1         1      1         3   1       1       medium
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
REDRIVEN = {
    "failed": "failed",
    "cancelled": "cancelled",
    "all": "failed cancelled",
    "counted": "",
}
"""The jobs that a bulk redrive with this body sends on their way again."""


def hidden_from(caller: str) -> list[str]:
    """The words that no answer to this caller may hold."""
    told = rows(TOLD).get(caller, {})
    return [word for word in FIELDS if told.get(word) != "yes"]
