"""Cancel, and both redrives. See queuelog_core/http/routes.py."""

from queuelog_core.http.lambda_adapter import handler_for

handler = handler_for("operate")
