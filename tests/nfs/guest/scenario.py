"""How a scenario is asked for and answers."""

import json
import sys
from collections.abc import Callable


def answer(scenario: Callable[..., object]) -> None:
    """Run a scenario as it is asked for, in JSON; its figures are the last line that is printed."""
    figures = scenario(**json.loads(sys.argv[1]))
    sys.stdout.write(f"\n{json.dumps(figures)}\n")
