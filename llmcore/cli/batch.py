"""`llmcore batch`: runs files of requests here, or as batches of a provider.

llmcore batch run requests.jsonl -c answers.db > answers.jsonl
llmcore batch submit requests.jsonl > handle.json
llmcore batch status handle.json
llmcore batch results handle.json > answers.jsonl
"""

import argparse
import os
import sys
from pathlib import Path
from typing import Final

from llmcore.cli.program import note, print_json
from llmcore.cli.request_options import make_client, model_of, no_model
from llmcore.cli.user_config import read_config
from llmcore.client.batches import Batches, BatchHandle
from llmcore.client.client import Client
from llmcore.generation.batch import BatchRun, each_once, finished, requests_in, run_batch
from llmcore.schema import json
from llmcore.schema.codec import from_json, to_json
from llmcore.schema.errors import InvalidRequestError, LLMError
from llmcore.schema.model import Model
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Failure, Result

_OF_SUBMIT: Final = "the file with the output of `llmcore batch submit`"


async def run(args: argparse.Namespace) -> int:
    """Run the requests of a file here; the exit code is 1 if one of them failed in the end."""
    async with make_client() as client:
        model = _model(args, client)
        if model is None:
            _check_models(args.requests, client)
        summary = await run_batch(
            args.requests,
            checkpoint=args.checkpoint,
            on_result=_print_failure if args.checkpoint else _print,
            model=model,
            concurrency=args.concurrency,
            progress=sys.stderr.isatty(),
            client=client,
        )
    if args.checkpoint:
        for id_, response in finished(args.checkpoint):
            _print_response(id_, response)
    note(_summary(summary))
    return 1 if summary.failed else 0


async def submit(args: argparse.Namespace) -> int:
    """Submit a batch, and print its handle."""
    async with make_client() as client:
        model = _model(args, client)
        if model is None:
            _check_models(args.requests, client)
        requests = dict(each_once(args.requests, model))
        handle = (await Batches(client).submit(requests)).unwrap()
    print_json(to_json(handle), indent=2)
    return 0


async def status(args: argparse.Namespace) -> int:
    """Print how far a batch is."""
    handle = _handle(args.handle)
    async with make_client() as client:
        batch_status = (await Batches(client).status(handle)).unwrap()
    print_json(to_json(batch_status), indent=2)
    return 0


async def results(args: argparse.Namespace) -> int:
    """Print the responses of a batch; the exit code is 1 if one of the requests failed."""
    handle, failed = _handle(args.handle), 0
    async with make_client() as client:
        async for id_, outcome in Batches(client).results(handle):
            _print(id_, outcome)
            failed += isinstance(outcome, Failure)
    return 1 if failed else 0


def _handle(path: str) -> BatchHandle:
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        return from_json(BatchHandle, json.loads(data))
    except OSError as error:
        message = f"cannot read {path}: {error.strerror or error}; give {_OF_SUBMIT}"
        raise InvalidRequestError(message, cause=error) from error
    except (ValueError, LLMError) as error:
        message = f"{path} is not the handle of a batch: give {_OF_SUBMIT} ({error})"
        raise InvalidRequestError(message, cause=error) from error


def _model(args: argparse.Namespace, client: Client) -> Model | str | None:
    """Return the model of requests that name none; by default that of `llmcore config`."""
    config = read_config(os.environ)
    if args.model:
        return model_of(config.model_named(args.model), client, local_by="-m local:any")
    named = config.get("model")
    return None if named is None else config.model_named(named)


def _check_models(file: str, client: Client) -> None:
    """Raise ConfigurationError if a request of *file* names no model, which would be chosen."""
    if any(not request.model_id and not request.provider_id for _, request in requests_in(file)):
        raise no_model(client)


def _print(id_: str, outcome: Result[LLMResponse, LLMError]) -> None:
    if isinstance(outcome, Failure):
        print_json({"id": id_, "error": to_json(outcome.error, LLMError)})
    else:
        _print_response(id_, outcome.unwrap())


def _print_failure(id_: str, outcome: Result[LLMResponse, LLMError]) -> None:
    if isinstance(outcome, Failure):
        note(f"{id_}: {outcome.error}")


def _print_response(id_: str, response: LLMResponse) -> None:
    print_json({"id": id_, "text": response.text, "response": to_json(response)})


def _summary(run: BatchRun) -> str:
    cost = "" if run.cost is None else f", ${run.cost:.4f}"
    tokens = f"{run.usage.total_tokens or 0} tokens{cost}"
    return f"{run.succeeded} answered ({tokens}), {run.resumed} from the file, {run.failed} failed"
