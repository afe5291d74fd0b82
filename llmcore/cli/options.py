"""The options of the commands that use the library, which is imported when one of them runs.

So `llmcore ask --help` and errors of options come at once. The other commands have their options
in their own modules.
"""

import argparse
from collections.abc import Mapping
from typing import Any, Final

from llmcore.cli.program import (
    add_command,
    command,
    decimal_number,
    model_name,
    not_empty,
    whole_number,
)
from llmcore.protocols import PROTOCOL_IDS

GRANULARITIES: Final = ("segment", "word")
CAPABILITIES: Final = ("reasoning", "vision", "tools", "structured_output")
LOGINS: Final = ("github-copilot",)
"""Choices that the library defines; a test compares them."""

IMAGE: Final[Mapping[str, Mapping[str, Any]]] = {
    "images": {
        "flags": ("-i", "--image"),
        "action": "append",
        "metavar": "FILE",
        "help": "an image to edit; repeatable",
    },
    "mask": {"metavar": "FILE", "help": "an image whose transparent areas may change"},
    "n": {
        "flags": ("-n",),
        "type": whole_number,
        "metavar": "N",
        "help": "how many images are made",
    },
    "size": {"help": "such as 1536x1024, or 2K"},
    "aspect_ratio": {"metavar": "RATIO", "help": "such as 16:9"},
    "quality": {"help": "the provider's word, such as high"},
    "background": {"help": "transparent, opaque or auto"},
    "output_format": {"metavar": "FORMAT", "help": "png, jpeg or webp"},
}
SPEECH: Final[Mapping[str, Mapping[str, Any]]] = {
    "voice": {"help": "the provider's name of the voice, such as alloy or Kore"},
    "output_format": {"metavar": "FORMAT", "help": "mp3, wav, opus, aac, flac or pcm"},
    "instructions": {"metavar": "TEXT", "help": "the manner of speaking"},
    "speed": {"type": decimal_number, "metavar": "FACTOR", "help": "1.0 is the usual speed"},
    "language": {"help": "the language of the text, such as en"},
}
TRANSCRIPTION: Final[Mapping[str, Mapping[str, Any]]] = {
    "language": {"help": "the spoken language, such as en"},
    "prompt": {"help": "names and words that occur, or the text before"},
    "timestamps": {"action": "append", "choices": GRANULARITIES, "help": "print times"},
    "diarize": {"action": "store_true", "help": "print who speaks"},
    "temperature": {"type": decimal_number, "metavar": "T", "help": "from 0 to 1"},
}
"""The settings that are options, by their names."""


_REPEATABLE: Final[Mapping[str, Any]] = {"action": "append", "type": not_empty, "default": []}
_MODEL: Final[Mapping[str, Any]] = {"type": model_name, "metavar": "PROVIDER:ID"}
_JSON_LINES: Final[Mapping[str, Any]] = {
    "action": "store_true",
    "help": "print one JSON object per line",
}
"""Facts of options that several commands have."""

SHELLS: Final = ("bash", "zsh", "tcsh", "fish")
_WHERE: Final = """\
Where the script belongs:
  bash  `{0} completion bash > ~/.local/share/bash-completion/completions/{0}`
  zsh   `{0} completion zsh > _{0}`, in a folder of $fpath
  fish  `{0} completion fish > ~/.config/fish/completions/{0}.fish`"""


def add_ask(parser: argparse.ArgumentParser) -> None:
    """Add the options of `llmcore ask`."""
    _add_request_options(parser)
    outputs = parser.add_mutually_exclusive_group()
    _add_schema(outputs)
    outputs.add_argument("--json", action="store_true", help="print events as JSON lines")
    _add_session_options(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="print the response only")
    parser.set_defaults(run=command("ask:run"))


def add_chat(parser: argparse.ArgumentParser) -> None:
    """Add the options of `llmcore chat`."""
    _add_request_options(parser)
    _add_session_options(parser)
    parser.set_defaults(run=command("chat:run"), json=False, quiet=False, schema=None)


def add_prepare(parser: argparse.ArgumentParser) -> None:
    """Add the options of `llmcore prepare`."""
    _add_request_options(parser)
    _add_schema(parser)
    parser.add_argument("--curl", action="store_true", help="print it as a curl command")
    parser.set_defaults(run=command("prepare:run"))


def add_batch(parser: argparse.ArgumentParser) -> None:
    """Add the options of `llmcore batch`."""
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    here = add_command(commands, "run", "run requests here, and print their responses")
    _add_requests(here)
    here.add_argument(
        "-c",
        "--checkpoint",
        metavar="FILE",
        help="a SQLite file of finished responses, which are not asked for again",
    )
    here.add_argument(
        "--concurrency", type=whole_number, default=20, metavar="N", help="20 if not set"
    )
    here.set_defaults(run=command("batch:run"))
    submit = add_command(commands, "submit", "submit a batch, and print its handle")
    _add_requests(submit)
    submit.set_defaults(run=command("batch:submit"))
    for name, text in (
        ("status", "print how far a batch is"),
        ("results", "print the responses of a batch"),
    ):
        added = add_command(commands, name, text)
        added.add_argument(
            "handle", metavar="FILE", help="the file that `submit` printed, or - for stdin"
        )
        added.set_defaults(run=command(f"batch:{name}"))


def add_image(parser: argparse.ArgumentParser) -> None:
    """Add the options of `llmcore image`."""
    parser.add_argument("prompt", nargs="*", help="what is to be seen; text on stdin is appended")
    _add_model_and_settings(parser, IMAGE, "openai:gpt-image-2")
    _add_output(parser)
    parser.set_defaults(run=command("media:image"))


def add_speech(parser: argparse.ArgumentParser) -> None:
    """Add the options of `llmcore speak`."""
    parser.add_argument("text", nargs="*", help="the text to read out; text on stdin is appended")
    _add_model_and_settings(parser, SPEECH, "openai:gpt-4o-mini-tts")
    _add_output(parser)
    parser.set_defaults(run=command("media:speak"))


def add_transcription(parser: argparse.ArgumentParser) -> None:
    """Add the options of `llmcore transcribe`."""
    add = parser.add_argument
    add("recording", metavar="FILE|URL|-", help="the recording, - for stdin")
    _add_model_and_settings(parser, TRANSCRIPTION, "openai:whisper-1")
    add("--json", action="store_true", help="print text and times as JSON")
    parser.set_defaults(run=command("media:transcribe_recording"))


def add_logs(parser: argparse.ArgumentParser) -> None:
    """Add the options of `llmcore logs`."""
    add = parser.add_argument
    add("words", nargs="*", help="only exchanges that contain all of these")
    add(
        "-n",
        dest="count",
        type=whole_number,
        default=3,
        metavar="N",
        help="the last N (3); 0 for all",
    )
    add("-m", "--model", metavar="ID", help="only responses of models with this name")
    add("--session", metavar="NAME", help="only of this conversation")
    add("--full", action="store_true", help="do not shorten long messages")
    add("--json", **_JSON_LINES)
    parser.set_defaults(run=command("logs:run"))


def add_sessions(parser: argparse.ArgumentParser) -> None:
    """Add the options of `llmcore sessions`."""
    actions = parser.add_subparsers(required=True, metavar="ACTION")

    def add(name: str, about: str) -> argparse.ArgumentParser:
        added = add_command(actions, name, about)
        added.set_defaults(run=command("sessions:run"), action=name)
        return added

    listing = add("list", "print every session")
    listing.add_argument("--json", **_JSON_LINES)
    show = add("show", "print a session as readable text")
    show.add_argument("name", metavar="NAME")
    export = add("export", "print sessions as JSON lines")
    export.add_argument("names", nargs="*", metavar="NAME", help="all sessions if none is given")
    export.add_argument(
        "-o", "--output", metavar="FILE", help="write to a file that only you can read"
    )
    importing = add("import", "read sessions from JSON lines")
    importing.add_argument("file", metavar="FILE", help="a file that export wrote; - for stdin")
    importing.add_argument(
        "--as", dest="name", metavar="NAME", help="import as one session with this name"
    )
    add("delete", "delete a session").add_argument("name", metavar="NAME")
    schema = add_command(actions, "schema", "print the JSON Schema of exported lines")
    schema.set_defaults(run=command("sessions:schema"))


def add_inspect(parser: argparse.ArgumentParser) -> None:
    """Add the options of `llmcore inspect`."""
    add = parser.add_argument
    shown = "a cassette, an exported session, a stream, or printed events; - for stdin"
    add("file", metavar="FILE", help=shown)
    add("--diff", metavar="FILE", help="show what differs in this other file")
    add(
        "--protocol",
        choices=PROTOCOL_IDS,
        metavar="API",
        help=f"the API of a recorded stream: {', '.join(PROTOCOL_IDS)}",
    )
    add("-o", "--output", metavar="FILE", help="write the page here; - for stdout")
    add("--open", action="store_true", help="open the page in a browser")
    parser.set_defaults(run=command("inspect:run"))


def add_models(parser: argparse.ArgumentParser) -> None:
    """Add the options of `llmcore models`."""
    add = parser.add_argument
    add("words", nargs="*", help="only models with all of these in their provider, id or name")
    add("--latest", action="store_true", help="only the newest matching model of each provider")
    add("--provider", metavar="ID", help="only models of this provider")
    add(
        "--capability",
        action="append",
        default=[],
        choices=CAPABILITIES,
        metavar="NAME",
        help=f"only models with this capability, repeatable: {', '.join(CAPABILITIES)}",
    )
    add("--json", **_JSON_LINES)
    parser.set_defaults(run=command("models:run"))


def add_login(parser: argparse.ArgumentParser) -> None:
    """Add the options of `llmcore login`."""
    add = parser.add_argument
    add("provider", choices=LOGINS)
    add("--github-url", metavar="URL", help="such as https://acme.ghe.com")
    add("--api-url", metavar="URL", help="GitHub's API, if not at `api.` before the host")
    add("--client-id", metavar="ID", help="the OAuth application")
    parser.set_defaults(run=command("login:run_login"))


def add_logout(parser: argparse.ArgumentParser) -> None:
    """Add the options of `llmcore logout`."""
    parser.add_argument("provider", choices=LOGINS)
    parser.set_defaults(run=command("login:run_logout"))


def add_doctor(parser: argparse.ArgumentParser) -> None:
    """Add the options of `llmcore doctor`."""
    add = parser.add_argument
    add("--offline", action="store_true", help="connect to nothing: leave out network and clock")
    add("--json", **_JSON_LINES)
    parser.set_defaults(run=command("doctor:run"))


def add_providers(parser: argparse.ArgumentParser) -> None:
    """Add the options of `llmcore providers`."""
    parser.add_argument("--json", **_JSON_LINES)
    parser.set_defaults(run=command("providers:run"))


def add_keys(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `llmcore keys`."""
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    setting = add_command(
        actions, "set", "store a key, typed or on stdin: in the keyring, else in a private file"
    )
    setting.add_argument(
        "provider", metavar="PROVIDER", help="such as openai, or the name of a variable"
    )
    setting.set_defaults(run=command("keys:set_key"))
    listing = add_command(actions, "list", "list stored keys, not their values")
    listing.add_argument("--json", **_JSON_LINES)
    listing.set_defaults(run=command("keys:list_keys"))
    removing = add_command(actions, "remove", "remove a stored key")
    removing.add_argument("provider", metavar="PROVIDER", help="as for `set`")
    removing.set_defaults(run=command("keys:remove"))


def add_completion(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command `completion` of `llmcore` or `openbridge`."""
    program = parser.prog.split()[0]
    home = "openbridge" if program == "openbridge" else "commands"
    parser.add_argument("shell", choices=SHELLS)
    parser.epilog = _WHERE.format(program)
    parser.set_defaults(run=command(f"{home}:print_completion"))


# -- shared


def _add_request_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("prompt", nargs="*", help="the user message; text on stdin is appended")
    models = parser.add_mutually_exclusive_group()
    models.add_argument("-m", "--model", **_MODEL, help="such as openai:gpt-5.2, or an alias")
    models.add_argument("--local", action="store_true", help="ask the embedded local model")
    add("-s", "--system", metavar="TEXT", help="the system prompt")
    add("--image", **_REPEATABLE, metavar="FILE|URL", help="an image to attach; repeatable")
    add(
        "-a",
        "--attach",
        **_REPEATABLE,
        metavar="FILE|URL|-",
        help="an image, audio, document or text to attach, - for stdin; repeatable",
    )
    add("-t", "--template", type=not_empty, metavar="NAME", help="a prompt of `llmcore config`")
    add(
        "-p",
        "--param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a value in the template; repeatable",
    )
    add(
        "--tool",
        **_REPEATABLE,
        metavar="MODULE:FUNCTION",
        help="a Python function that the model may call, or FILE.py:FUNCTION; repeatable",
    )
    add("--max-tokens", type=whole_number, metavar="N", help="the most tokens of the response")
    add("--temperature", type=decimal_number, metavar="T", help="0 for the likeliest words")
    add("--reasoning-effort", metavar="LEVEL", help="such as low or high")
    add(
        "--no-stream",
        dest="stream",
        action="store_false",
        help="print the response when it is complete",
    )


def _add_schema(options: "argparse._ActionsContainer") -> None:
    options.add_argument(
        "--schema",
        type=not_empty,
        metavar="SCHEMA",
        help="a response of JSON: a JSON Schema, its file, module:Class, or `name, age int`",
    )


def _add_session_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--session",
        type=not_empty,
        metavar="NAME",
        help="continue this conversation and store the response",
    )
    group.add_argument(
        "-c", "--continue", dest="last", action="store_true", help="continue the last conversation"
    )
    group.add_argument("--no-log", dest="log", action="store_false", help="store nothing")


def _add_requests(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "requests",
        metavar="FILE",
        help='lines of JSON: {"id": "a", "prompt": "..."}, or with a whole "request"',
    )
    add(
        "-m",
        "--model",
        **_MODEL,
        help="the model of requests that name none, or an alias; by default that of the config",
    )


def _add_model_and_settings(
    parser: argparse.ArgumentParser, options: Mapping[str, Mapping[str, Any]], example: str
) -> None:
    add = parser.add_argument
    add("-m", "--model", **_MODEL, required=True, help=f"such as {example}, or an alias")
    for name, given in options.items():
        rest = {key: value for key, value in given.items() if key != "flags"}
        flags = given.get("flags", ("--" + name.replace("_", "-"),))
        add(*flags, dest=name, default=None, **rest)


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", metavar="FILE|-", help="the file that is written, - for stdout"
    )
