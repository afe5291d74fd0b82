"""What importing costs, over a bare interpreter."""

import subprocess
import sys
import time

STATEMENTS = (
    "pass",
    "import llmcore",
    "import llmcore; llmcore.Client; llmcore.request",
    "import httpx",
)


def cost(statement: str, rounds: int = 15) -> float:
    """Return the least seconds a process needs that runs *statement*."""
    best = float("inf")
    for _ in range(rounds):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", statement], check=True)
        best = min(best, time.perf_counter() - started)
    return best


def main() -> None:
    """Print a line for each statement."""
    bare = cost(STATEMENTS[0])
    for statement in STATEMENTS[1:]:
        print(f"{statement:50} {1000 * (cost(statement) - bare):6.1f} ms over bare python")
