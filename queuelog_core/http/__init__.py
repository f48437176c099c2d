"""The HTTP contract: one route table, strict parsing, one order of checks, problem+json."""
