"""`llmcore prepare`: prints the native request without sending it."""

import argparse
import os
import shlex
from collections.abc import Mapping

from attrs import evolve

from llmcore.cli.program import escaped, json_output, json_text, note
from llmcore.cli.request_options import Options
from llmcore.cli.stored_keys import with_stored_keys
from llmcore.client.client import Client
from llmcore.routes.route import PreparedRequest, Route
from llmcore.schema.model import Model
from llmcore.schema.result import Failure


def run(args: argparse.Namespace) -> int:
    """Print the request. Keys are redacted, and not required."""
    options = Options.of(args)
    environ = with_stored_keys(os.environ)
    model = options.model(Client.from_env(environ=environ), keyless=True)
    names = _key_names(model) if args.curl else {}
    client = Client.from_env(environ={**environ, **names})
    question = options.question(model)
    if options.schema is not None:
        question = evolve(question, response_format=options.schema.response_format(None, None))
    prepared = client.prepare(question, streaming=args.stream)
    if isinstance(prepared, Failure):
        raise prepared.error
    request = prepared.value
    print(as_curl(request, names) if args.curl else as_json(request), file=json_output())
    for diagnostic in request.diagnostics:
        note(f"note: {diagnostic}")
    return 0


def _key_names(model: Model) -> dict[str, str]:
    """Return the variables that may hold the key, each with the shell's reference to it."""
    variables = model.route.auth.variables if isinstance(model.route, Route) else ()
    set_names = [name for name in variables if os.environ.get(name, "").strip()]
    return {name: f"${name}" for name in set_names or variables[:1]}


def as_json(request: PreparedRequest) -> str:
    """Return *request* as one readable JSON document."""
    document = {
        "method": request.method,
        "url": request.url,
        "headers": dict(request.headers),
        "body": request.body,
    }
    return json_text(document, indent=2)


def as_curl(request: PreparedRequest, names: Mapping[str, str]) -> str:
    """Return *request* as a command for a POSIX shell, which reads the keys from variables."""
    lines = [f"curl -X {request.method} {shlex.quote(request.url)}"]
    for name, value in request.headers.items():
        sent = request.http.headers[name]
        prefix, dollar, variable = sent.rpartition("$")
        if f"{dollar}{variable}" in names.values():
            lines.append(f'-H {shlex.quote(f"{name}: {prefix}")}"${variable}"')
        else:
            lines.append(f"-H {shlex.quote(f'{name}: {value}')}")
    lines.append(f"--data-binary {shlex.quote(escaped(request.http.body.decode()))}")
    return " \\\n  ".join(lines)
