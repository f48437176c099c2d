"""The gateway's authorizers, one for each set of roles. See queuelog_core/http/authorizer.py."""

from queuelog_core.http.authorizer import authorizer_for

reader = authorizer_for("reader")
producer = authorizer_for("producer")
worker = authorizer_for("worker")
admin = authorizer_for("admin")
