"""`make run STORE=dynamodb`: a queuelog command over a DynamoDB at home, kept in a folder.

    python -m scripts.local_dynamodb serve --demo --port 8080

The engine is dynalite; it ends with this process, however that ends.
"""

import os
import subprocess
import sys
from pathlib import Path

from queuelog_core.cli import main as command
from queuelog_core.errors import StoreUnavailable
from queuelog_core.stores.operators import migrate

ROOT = Path(__file__).parent.parent
FOLDER = Path(".queuelog") / "dynamodb"
TABLE, REGION = "queuelog", "local"
# boto3 asks for some; any will do, and those of a real account are none of its business.
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}
_ENGINE = """
// It throws when a caller is killed in the middle of a request. DynamoDB takes no notice of that.
process.on('uncaughtException', (error) => { if (error.code !== 'ECONNRESET') throw error })
process.stdin.on('end', () => process.exit()).resume()
const options = { path: process.argv[1], createTableMs: 0 }
const server = require('dynalite')(options).listen(0, '127.0.0.1', () => {
  console.log(server.address().port)
})
"""


def main() -> None:
    FOLDER.mkdir(mode=0o700, parents=True, exist_ok=True)
    engine = subprocess.Popen(
        ["node", "-e", _ENGINE, str(FOLDER.resolve())],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # Ctrl-C in the terminal is for the command alone, which ends before its store does.
        start_new_session=True,
    )
    with engine:
        assert engine.stdout is not None
        port = engine.stdout.readline().strip()
        if not port:
            raise SystemExit("dynalite did not start; node has said why")
        store = f"dynamodb://{TABLE}?region={REGION}&endpoint=http://127.0.0.1:{port}"
        settings = {"QUEUELOG_STORE": store, **CREDENTIALS}
        os.environ.update(settings)
        try:
            migrate(store)
        except StoreUnavailable as error:
            raise SystemExit(f"{FOLDER} cannot be used; is it in use? {error.reason}") from None
        print(f"The jobs lie in {FOLDER}; other commands reach them meanwhile with")
        print(
            *(f"  export {name}='{value}'" for name, value in settings.items()),
            sep="\n",
            flush=True,
        )
        command(sys.argv[1:])


if __name__ == "__main__":
    main()
