"""`batch.ray`: a dataset on a cluster of two nodes, one of whose workers is killed."""

import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from llmcore.generation import batch
from llmcore.schema.errors import ConfigurationError, InvalidRequestError
from tests.generation.test_batch import Upstream
from tests.support.servers.loopback import serve

ROWS = 60

PROGRAM = """
import json, os, sys
from pathlib import Path

import ray
from ray.cluster_utils import Cluster

from llmcore import Client, OpenAICompatible
from llmcore.generation import batch

url, folder = sys.argv[1], Path(sys.argv[2])
node = {"num_cpus": 1, "object_store_memory": 100 << 20}
cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
cluster.add_node(**node)
ray.init(address=cluster.address, log_to_driver=False)
assert len(ray.nodes()) == 2


def make_client():
    (folder / f"{os.getpid()}.pid").touch()
    provider = OpenAICompatible(name="loop", base_url=url, api_key="k")
    return Client(providers={"loop": provider})


rows = [{"id": f"q{n}", "prompt": f"q{n}"} for n in range(60)]
answered = batch.ray(
    ray.data.from_items(rows),
    model="loop:m",
    make_client=make_client,
    workers=1,
    concurrency=4,
    batch_size=30,
    checkpoint=str(folder / "answers.db"),
)
(folder / "answers.json").write_text(json.dumps(answered.take_all()))
ray.shutdown()
cluster.shutdown()
"""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason="the extra ray is not installed")
def test_dataset_is_answered_on_two_nodes_although_a_worker_is_killed(tmp_path: Path) -> None:
    """Each row has its response once, and only what was under way at the kill is sent again."""
    upstream = Upstream()
    with serve(upstream) as server, (tmp_path / "log").open("wb") as log:
        command = [sys.executable, "-c", PROGRAM, f"{server.url}/v1", str(tmp_path)]
        program = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            killed = _kill_worker(program, upstream, tmp_path)
            assert program.wait(120) == 0, (tmp_path / "log").read_text()[-2000:]
        finally:
            program.kill()

    rows = json.loads((tmp_path / "answers.json").read_text())
    assert {row["id"]: row["text"] for row in rows} == {f"q{n}": f"q{n}" for n in range(ROWS)}
    assert len(rows) == ROWS
    assert all(row["error"] is None and json.loads(row["response"]) for row in rows)
    assert {int(file.stem) for file in tmp_path.glob("*.pid")} > {killed}
    assert sum(upstream.asked.values()) <= ROWS + 4


def _kill_worker(program: "subprocess.Popen[bytes]", upstream: Upstream, folder: Path) -> int:
    deadline = time.monotonic() + 120
    while sum(upstream.asked.values()) < 10:
        assert program.poll() is None, (folder / "log").read_text()[-2000:]
        assert time.monotonic() < deadline
        time.sleep(0.01)
    (file,) = folder.glob("*.pid")
    os.kill(int(file.stem), signal.SIGKILL)
    return int(file.stem)


class Table:
    """A dataset as far as its columns."""

    def __init__(self, *columns: str) -> None:
        self._columns = list(columns)

    def columns(self) -> list[str]:
        return self._columns


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason="the extra ray is not installed")
@pytest.mark.parametrize("columns", [("prompt",), ("id", "text"), ()])
def test_dataset_with_other_columns_is_refused(columns: Any) -> None:
    with pytest.raises(InvalidRequestError, match="needs a column id"):
        batch.ray(Table(*columns))


def test_ray_without_its_extra_is_a_configuration_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray.data", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigurationError, match="a dataset of Ray requires: pip install"):
        batch.ray(Table("id"))
