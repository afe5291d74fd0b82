"""A gateway of two workers, while upstreams and workers are killed and clients leave.

    python -m benchmarks.soak_bridge --seconds 600

Clients ask in the four APIs, whole and streamed, and leave in the middle of some responses. Every
few seconds the upstream or a worker is killed. At the end the spend must add up to what the budget
of the clients' key has used, each response that a client got whole must have its row, also where
its worker was killed at once, and nothing may be left under way. Exits with 1 if anything is wrong.
"""

import argparse
import asyncio
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from datetime import UTC
from pathlib import Path
from typing import Any, Final

import aiohttp
from attrs import define, field

from benchmarks.bridge_servers import FRONTS, Asked, gateway, started
from llmcore.bridge.accounts.issued_key import KeyLimits
from llmcore.bridge.accounts.issued_keys import KeyRegistry
from llmcore.bridge.accounts.meters import budget_meters
from llmcore.bridge.spend.report import spend_rows
from llmcore.bridge.state.ledger import Ledger
from llmcore.bridge.state.ledger_sql import SqliteLedger

CLIENTS: Final = 16
EVERY_S: Final = 4.0
"""Seconds between two kills, on average."""
QUIET_S: Final = 10.0
"""At the end, for the rows of killed workers to be found by others."""
EXPIRED_S: Final = 3600.0
"""After which the reservations of dead workers are given back."""
MAX_GROWTH: Final = 0.25
"""Of the memory of a worker of the same age; what fills caches."""
_ADMIN_KEY: Final = "admin-key-of-the-soak"

_ENDS: Final = {
    "responses": b"response.completed",
    "chat": b"data: [DONE]",
    "messages": b"event: message_stop",
    "gemini": b'"finishReason"',
}
_ID: Final = re.compile(rb'"(?:id|responseId)": ?"([^"]+)"')


@define
class Soak:
    """A run, and what came of it."""

    asked: Asked
    key: str
    upstream_port: int
    rng: random.Random
    outcomes: Counter[str] = field(factory=Counter)
    whole: dict[str, float] = field(factory=dict)
    """When each whole response ended, by its id."""
    kills: list[float] = field(factory=list)
    """When workers were killed."""
    upstream: subprocess.Popen[bytes] | None = None

    async def run(self, seconds: float) -> None:
        """Run everything for *seconds*."""
        end = time.monotonic() + seconds
        self._start_upstream()
        await asyncio.sleep(1.0)
        headers = {"authorization": f"Bearer {self.key}"}
        timeout = aiohttp.ClientTimeout(total=60)
        async with aiohttp.ClientSession(headers=headers, timeout=timeout) as session:
            clients = [self._ask_until(end, session) for _ in range(CLIENTS)]
            await asyncio.gather(self._kill_until(end), *clients)
        await asyncio.sleep(QUIET_S)

    def stop(self) -> None:
        """Stop the upstream."""
        if self.upstream is not None:
            self.upstream.kill()
            self.upstream.wait()

    def _start_upstream(self) -> None:
        command = [sys.executable, "-m", "benchmarks.bridge_upstream", str(self.upstream_port)]
        self.upstream = subprocess.Popen(command, stdout=subprocess.DEVNULL)

    async def _kill_until(self, end: float) -> None:
        while time.monotonic() < end:
            await asyncio.sleep(self.rng.uniform(0.5, 1.5) * EVERY_S)
            if self.rng.random() < 0.5:
                self.stop()
                await asyncio.sleep(self.rng.random())
                self._start_upstream()
            elif workers := _workers(self.asked.pid):
                self.kills.append(time.time())
                with suppress(ProcessLookupError):
                    os.kill(self.rng.choice(workers), signal.SIGKILL)

    async def _ask_until(self, end: float, session: aiohttp.ClientSession) -> None:
        while time.monotonic() < end:
            front, stream = self.rng.choice(FRONTS), self.rng.random() < 0.6
            leaves = self.rng.random() < 0.15
            try:
                outcome = await self._ask(session, front, stream=stream, leaves=leaves)
            except (aiohttp.ClientError, ConnectionError):
                outcome = "connection lost"
                await asyncio.sleep(0.05)
            self.outcomes[outcome] += 1

    async def _ask(
        self, session: aiohttp.ClientSession, front: str, *, stream: bool, leaves: bool
    ) -> str:
        asked = Asked("soak", self.asked.pid, self.asked.url, front)
        head, _, body = asked.request(stream=stream).partition(b"\r\n\r\n")
        url = self.asked.url + head.split(b" ")[1].decode()
        kind = {"content-type": "application/json"}
        async with session.post(url, data=body, headers=kind) as answer:
            if leaves:
                await answer.content.readany()
                answer.close()
                return "left"
            data = await answer.read()
        if answer.status != 200:
            await asyncio.sleep(0.02)
            return f"status {answer.status}"
        if stream and _ENDS[front] not in data:
            return "cut"
        if front != "chat" and (found := _ID.search(data)):  # the upstream's ids are relayed
            self.whole[found[1].decode()] = time.time()
        return "whole"


def _workers(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return list(map(int, children))


async def _metric(url: str, name: str) -> float:
    headers = {"authorization": f"Bearer {_ADMIN_KEY}"}
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{url}/metrics", headers=headers) as got,
    ):
        lines = (await got.text()).splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))


def _problems(soak: Soak, ledger: Ledger, key: Any) -> list[str]:
    """Return what is wrong with the accounts."""
    rows = list(spend_rows(ledger, 0, 1e11))
    spent = sum(row.input_tokens + row.output_tokens for row in rows)
    used = ledger.levels(budget_meters(key, time.time(), UTC))[0]
    print(f"   {len(rows)} rows of spend, {spent} tokens; the budget has used {used:.0f}")
    problems = [] if spent == used else [f"the rows add up to {spent} tokens, used are {used}"]
    known = {row.id for row in rows}
    lost = [ended for name, ended in soak.whole.items() if name not in known]
    kills = [min((kill - at for kill in soak.kills if kill > at), default=-1.0) for at in lost]
    print(f"   {len(soak.whole)} whole responses looked up, {len(lost)} have no row")
    if lost:
        after = [round(wait, 3) for wait in kills]
        problems.append(f"whole responses have no row; the next kills came {after} s later")
    return problems


def _ledger(path: Path, ahead_s: float = 0.0) -> Ledger:
    return SqliteLedger(path, setting="X", clock=lambda: time.time() + ahead_s)


def main() -> int:
    """Soak for as long as the arguments say; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        problems = _soak(Path(folder), given.seconds, random.Random(given.seed))
    for line in problems:
        print(f"PROBLEM {line}")
    print("soak: failed" if problems else "soak: every budget is exact, and nothing is left")
    return 1 if problems else 0


def _soak(folder: Path, seconds: float, rng: random.Random) -> list[str]:
    ledger = _ledger(folder / "state-accounts.db")
    key, text = KeyRegistry(ledger).create(KeyLimits(budget_tokens=10**12, period="total"))
    with started(["-m", "benchmarks.bridge_upstream"], cores=os.sched_getaffinity(0)) as first:
        assert first.stdout is not None
        port = int(first.stdout.readline())
    variables = {
        "OPENBRIDGE_STATE_PATH": str(folder / "state.db"),
        "OPENBRIDGE_KEYS_ISSUED": "true",
        "OPENBRIDGE_ADMIN_KEY": _ADMIN_KEY,
        "OPENBRIDGE_WORKERS": "2",
        "OPENBRIDGE_RETRIES": "1",
    }
    base, cores = f"http://127.0.0.1:{port}/chat/30/5", os.sched_getaffinity(0)
    with gateway(base, folder, cores=cores, **variables) as (url, pid, _):
        soak = Soak(Asked("soak", pid, url, "chat"), text, port, rng)
        try:
            asyncio.run(soak.run(seconds))
        finally:
            soak.stop()
        left = asyncio.run(_metric(url, "openbridge_running_responses"))
        sizes = [Asked("worker", one, url, "chat").resident_mb for one in _workers(pid)]
        files = [len(list(Path(f"/proc/{one}/fd").iterdir())) for one in _workers(pid)]
    for line, count in sorted(soak.outcomes.items()):
        print(f"   {count:7} {line}")
    print(f"   {len(soak.kills)} workers killed; memory of workers {sizes} MB, open files {files}")
    later = _ledger(folder / "state-accounts.db", EXPIRED_S)
    later.renew("checker", 1.0)
    problems = _problems(soak, later, key)
    if left:
        problems.append(f"{left} responses are under way, with no client")
    if len(sizes) != 2 or max(sizes) > 200:
        problems.append(f"the workers hold {sizes} MB")
    if max(files, default=0) > 150:
        problems.append(f"the workers have {files} files open")
    if not soak.outcomes["whole"]:
        problems.append("no response was whole")
    return problems


if __name__ == "__main__":
    sys.exit(main())
