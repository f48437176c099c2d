"""queuelog: a background job queue offered over HTTP by serverless functions."""

__version__ = "0.1.0"
