"""queuelog beside other queues on SQLite: an adapter for each, a runner, and the comparison."""
