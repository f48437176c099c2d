"""`python -m queuelog_core.cli`, for a checkout whose command is not on the path."""

from queuelog_core.cli import main

main()
