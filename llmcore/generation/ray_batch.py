"""Requests of a Ray dataset, run by workers on all nodes of a cluster: `batch.ray`.

`pip install 'llmcore-routes[ray]'` brings Ray (https://docs.ray.io/en/latest/data/data.html). Each
worker runs blocks of rows with `run_batch`. Ray starts a worker that died again, and gives it the
block that it had not finished.
"""

from collections.abc import Callable, Mapping
from typing import Any

import anyio

from llmcore.client.client import Client
from llmcore.schema import json
from llmcore.schema.codec import to_json
from llmcore.schema.errors import InvalidRequestError, LLMError, missing_extra
from llmcore.schema.frozen import frozen
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Failure, Result

_ADDED = ("text", "response", "error")


@frozen(kw_only=True)
class RaySettings:
    """The settings of each worker, which are sent to all nodes."""

    make_request: Callable[[Mapping[str, Any]], LLMRequest]
    make_client: Callable[[], Client]
    concurrency: int
    checkpoint: str | None


class RayWorker:
    """Runs blocks of rows, in a process of a node."""

    def __init__(self, settings: RaySettings) -> None:
        self._settings = settings

    def __call__(self, table: Any) -> Any:
        """Return *table*, a pyarrow.Table, with the columns of responses."""
        import pyarrow as pa

        rows: list[dict[str, Any]] = table.to_pylist()
        outcomes = anyio.run(self._responses, rows)
        responses = [_columns(outcomes[str(row["id"])]) for row in rows]
        for name in _ADDED:
            table = table.append_column(
                name, pa.array([response[name] for response in responses], pa.string())
            )
        return table

    async def _responses(
        self, rows: list[dict[str, Any]]
    ) -> dict[str, Result[LLMResponse, LLMError]]:
        from llmcore.generation.batch import run_batch

        settings = self._settings
        outcomes: dict[str, Result[LLMResponse, LLMError]] = {}

        def keep(id_: str, outcome: Result[LLMResponse, LLMError]) -> None:
            outcomes[id_] = outcome

        async with settings.make_client() as client:
            await run_batch(
                [(str(row["id"]), settings.make_request(row)) for row in rows],
                checkpoint=settings.checkpoint,
                on_result=keep,
                concurrency=settings.concurrency,
                client=client,
            )
        return outcomes


def _columns(outcome: Result[LLMResponse, LLMError]) -> dict[str, str | None]:
    if isinstance(outcome, Failure):
        return {"text": None, "response": None, "error": str(outcome.error)}
    response = outcome.unwrap()
    whole = json.dumps(to_json(response)).decode()
    return {"text": response.text, "response": whole, "error": None}


def mapped(dataset: Any, settings: RaySettings, *, workers: int, batch_size: int) -> Any:
    """Return *dataset* with the columns of responses; raises ConfigurationError without Ray."""
    try:
        import pyarrow as pa  # noqa: F401  (blocks are tables of it)
        import ray.data  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise missing_extra("a dataset of Ray", "ray", error) from error
    columns = dataset.columns() or []
    if "id" not in columns or set(_ADDED) & set(columns):
        raise InvalidRequestError(
            f"the dataset needs a column id, and none of {', '.join(_ADDED)}, which are added; "
            f"it has {', '.join(columns)}"
        )
    return dataset.map_batches(
        RayWorker,
        fn_constructor_args=(settings,),
        batch_format="pyarrow",
        batch_size=batch_size,
        compute=ray.data.ActorPoolStrategy(size=workers),
    )
