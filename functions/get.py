"""GET /jobs/{id} and its attempts. See queuelog_core/http/routes.py."""

from queuelog_core.http.lambda_adapter import handler_for

handler = handler_for("get")
