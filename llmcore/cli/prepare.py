"""`llmcore prepare`: the native request, printed and not sent."""

import argparse
import json
import shlex
import sys

from llmcore.cli.json_streams import json_output
from llmcore.cli.request_options import add_request_options, make_client, read_request
from llmcore.routes.route import PreparedRequest
from llmcore.schema.result import Success


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = commands.add_parser("prepare", help="print the native request without sending it")
    add_request_options(parser)
    parser.add_argument("--curl", action="store_true", help="as a curl command")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the request; keys are redacted."""
    client = make_client()
    prepared = client.prepare(read_request(args, client), streaming=args.stream)
    if not isinstance(prepared, Success):
        raise prepared.failure()
    request = prepared.unwrap()
    print(as_curl(request) if args.curl else as_json(request), file=json_output())
    for diagnostic in request.diagnostics:
        print(f"note: {diagnostic}", file=sys.stderr)
    return 0


def as_json(request: PreparedRequest) -> str:
    """Return *request* as one readable JSON document."""
    document = {
        "method": request.method,
        "url": request.url,
        "headers": dict(request.headers),
        "body": request.body,
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def as_curl(request: PreparedRequest) -> str:
    """Return *request* as a command for a POSIX shell, with placeholders for keys."""
    lines = [f"curl -X {request.method} {shlex.quote(request.url)}"]
    lines += [f"-H {shlex.quote(f'{name}: {value}')}" for name, value in request.headers.items()]
    lines.append(f"--data-binary {shlex.quote(request.http.body.decode())}")
    return " \\\n  ".join(lines)
