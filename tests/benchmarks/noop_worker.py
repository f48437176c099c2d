"""A worker whose jobs do nothing: `python -m tests.benchmarks.noop_worker drain|run THREADS`.

QUEUELOG_URL and QUEUELOG_API_KEY say where. It ends when nothing is left to drain, or when it is
told to, and prints the seconds of the processor that its work took, start and imports left out.
"""

import sys
import time

from queuelog_core.worker import Worker

JOB_TYPE = "email"
DRAIN_SECONDS = 120.0


def main(mode: str, threads: str) -> None:
    worker = Worker(concurrency=int(threads))
    worker.handler(JOB_TYPE)(lambda _: None)
    started = time.process_time()
    if mode == "drain":
        worker.drain(DRAIN_SECONDS)
    else:
        worker.run()
    print(time.process_time() - started)


if __name__ == "__main__":
    main(*sys.argv[1:])
