"""`openbridge serve`, `run` and `replay`: the gateway, also for one program, or recorded requests.

All commands are configured by `OPENBRIDGE_` variables, a `.env` file and `openbridge.toml`; options
win over them.
"""

import argparse
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from attrs import evolve

from llmcore.bridge.configuration.settings import GatewaySettings, StateSettings
from llmcore.cli import ExitOnInterrupt
from llmcore.cli.failures import UsageError
from llmcore.cli.gateway_clients import (
    ANY_KEY,
    OTHERS_KEYS,
    Address,
    command,
    instructions,
    variables,
)
from llmcore.cli.gateway_config import settings_of
from llmcore.cli.program import print_json
from llmcore.client.transport import Transport
from llmcore.schema.errors import ConfigurationError, InvalidRequestError
from llmcore.schema.json import JsonObject
from llmcore.version import VERSION

if TYPE_CHECKING:
    from llmcore.bridge.api import Caller
    from llmcore.bridge.apis.responses import Responses

_FORMATS = "OPENBRIDGE_STRUCTURED_OUTPUT_BY_FRONT"
_RECORDED_URL = "http://recorded.invalid/v1"
"""The base URL of the upstream whose responses are recorded; nothing connects to it."""


# -- serve


def serve(args: argparse.Namespace) -> int:
    """Run the gateway until a signal stops it, and return the exit code."""
    with ExitOnInterrupt():
        from llmcore.bridge.http.server import load, run

        load()
        settings = settings_of(args)

    def announce(url: str) -> None:
        print(_welcome(settings, url))

    run(
        settings,
        announce=announce if sys.stdout.isatty() else None,
        read_again=partial(settings_of, args),
    )
    return 0


def _welcome(settings: GatewaySettings, url: str) -> str:
    """Return what people read when the gateway starts."""
    from llmcore.bridge.state.stores import place_of_state

    key = "YOUR_KEY" if settings.needs_key else ANY_KEY
    facts = {
        "Responses": f"{url}/v1/responses",
        "Chat Completions": f"{url}/v1/chat/completions",
        "Messages": f"{url}/v1/messages",
        "Gemini": f"{url}/v1beta/models",
        "State": place_of_state(settings),
        **({"Page": f"{url}/ui"} if settings.has_ui else {}),
    }
    secret = f" -H 'authorization: Bearer {key}'" if settings.needs_key else ""
    body = json.dumps({"model": "MODEL", "input": "Hi"})
    return "\n".join(
        [
            f"OpenBridge {VERSION} at {url}, in front of {settings.upstream}\n",
            *(f"  {name:17} {value}" for name, value in facts.items()),
            f"\n{instructions(Address(root=url, key=key))}\n",
            f"curl {url}/v1/models{secret}",
            f"curl {url}/v1/responses{secret} -H 'content-type: application/json' -d '{body}'",
        ]
    )


# -- run


def run_program(args: argparse.Namespace) -> int:
    """Run a program with a gateway on a free port; the exit code is the program's."""
    with ExitOnInterrupt():
        from llmcore.bridge.http.server import load, serving_in_thread

    words = args.words[1:] if args.words[:1] == ["--"] else args.words
    if not words:
        raise UsageError("name the program: openbridge run -- claude")
    with ExitOnInterrupt():
        load()
    key = f"ob-{secrets.token_hex(16)}"
    settings = settings_of(
        args,
        OPENBRIDGE_HOST="127.0.0.1",
        OPENBRIDGE_PORT="0",
        OPENBRIDGE_CLIENT_API_KEY=key,
        OPENBRIDGE_LOG_LEVEL=os.environ.get("OPENBRIDGE_LOG_LEVEL", "error"),
        **{_FORMATS: os.environ.get(_FORMATS, "gemini=degrade")},  # Gemini CLI's side calls
    )
    with serving_in_thread(settings) as url:
        address = Address(root=url, key=key, model=args.model)
        environ = {name: value for name, value in os.environ.items() if name not in OTHERS_KEYS}
        return _child(command(words, address), {**environ, **variables(address)})


def _child(words: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run *words* to its end. Ctrl-C is the program's to handle; SIGTERM is passed on to it."""
    program = words[0]
    if sys.platform == "win32":  # which runs only *.exe by their names, and npm installs *.cmd
        program = shutil.which(program, path=environ.get("PATH")) or program
    try:
        child = subprocess.Popen([program, *words[1:]], env=environ)  # noqa: S603  (the user's)
    except OSError as error:
        message = f"{words[0]} cannot be run: {error.strerror or error}"
        raise ConfigurationError(message, cause=error) from error
    interrupts = signal.signal(signal.SIGINT, signal.SIG_IGN)
    terminations = signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    try:
        code = child.wait()
    finally:
        signal.signal(signal.SIGINT, interrupts)
        signal.signal(signal.SIGTERM, terminations)
    return code if code >= 0 else 128 - code


# -- replay


def replay(args: argparse.Namespace) -> int:
    """Run recorded requests, print their events, and return the exit code."""
    bodies = _requests(args.file)
    if args.responses is None:
        return anyio.run(_run, settings_of(args), bodies, None)
    more = {} if args.upstream else _recorded_upstream()
    return anyio.run(_run, settings_of(args, **more), bodies, _responses(args.responses))


def _recorded_upstream() -> dict[str, str]:
    return {
        "OPENBRIDGE_UPSTREAM": "openai-compatible",
        "OPENBRIDGE_UPSTREAM_BASE_URL": _RECORDED_URL,
    }


async def _run(
    settings: GatewaySettings, bodies: Sequence[JsonObject], transport: Transport | None
) -> int:
    """Print the events of each request as lines of JSON; the exit code is 1 if any failed."""
    from llmcore.bridge.api import Caller
    from llmcore.bridge.apis.responses import Responses
    from llmcore.bridge.http.access import ANYBODY
    from llmcore.bridge.service import Service

    quiet = evolve(settings, relay=False, state=StateSettings(backend="memory"))
    service = Service.from_settings(quiet, transport=transport)
    caller = Caller(owner=ANYBODY, counted_as=ANYBODY)
    try:
        responses = Responses(service)
        failed = [not await _run_one(responses, body, caller) for body in bodies]
    finally:
        await service.aclose()
    return int(any(failed))


async def _run_one(responses: "Responses", body: JsonObject, caller: "Caller") -> bool:
    from llmcore.bridge.api import OperationRequest
    from llmcore.fronts.errors import FrontError
    from llmcore.fronts.front import ClientRequest
    from llmcore.fronts.openai_forms import envelope

    try:
        request = ClientRequest(body={**body, "stream": True}, path="/v1/responses")
        run = await responses.generate(OperationRequest(request=request, caller=caller))
        try:
            while data := await run.next_bytes():
                for line in data.split(b"\n"):
                    if line.startswith(_DATA):
                        print_json(json.loads(line.removeprefix(_DATA)))
        finally:
            await run.aclose()
    except FrontError as error:
        print_json({"status": error.status, **envelope(error)})
        return False
    return run.error is None


_DATA = b"data: "


def _requests(path: Path) -> list[JsonObject]:
    """Return the request bodies in *path*, which is a request body or a cassette."""
    try:
        data = json.loads(path.read_bytes())
    except OSError as error:
        message = f"cannot read {path}: {error.strerror or error}"
        raise InvalidRequestError(message, cause=error) from error
    except ValueError as error:
        raise InvalidRequestError(f"{path} cannot be read: {error}", cause=error) from error
    if not isinstance(data, Mapping):
        raise InvalidRequestError(f"{path} does not hold a JSON object")
    if "interactions" not in data:
        return [data]
    from llmcore.testing import cassette_file
    from llmcore.testing.cassette import Interaction

    interactions = cassette_file.load(path).interactions
    requests = [item.request for item in interactions if isinstance(item, Interaction)]
    creations = [item for item in requests if item.url.partition("?")[0].endswith("/responses")]
    if not creations:
        raise InvalidRequestError(f"the cassette {path} has no request to /responses")
    return [json.loads(item.body) for item in creations]


def _responses(path: Path) -> Transport:
    """Return a transport that answers with the responses of a cassette, in order."""
    from llmcore.testing import cassette_file
    from llmcore.testing.cassette import CassetteError, Interaction, RecordedResponse
    from llmcore.testing.script import scripted

    try:
        interactions = cassette_file.load(path).interactions
    except CassetteError as error:
        raise ConfigurationError(str(error), cause=error) from error
    responses = [item.response for item in interactions if isinstance(item, Interaction)]
    recorded = [item for item in responses if isinstance(item, RecordedResponse)]
    return scripted(*((item.status, item.headers, item.body) for item in recorded))
