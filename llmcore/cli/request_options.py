"""The options for the prompt, the model and generation, and the request built from them."""

import argparse
import difflib
import sys

from llmcore.catalog.model_names import PROVIDER_ALIASES
from llmcore.client.client import Client
from llmcore.client.environment import provider_entries
from llmcore.routes.providers import Facade
from llmcore.schema.content import ImagePart
from llmcore.schema.errors import ConfigurationError, InvalidRequestError
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest, request

_NO_PROVIDER = """no provider is configured. Either
  - set a key, such as OPENAI_API_KEY or ANTHROPIC_API_KEY (`llmcore providers` lists them all), or
  - run the small model that comes with llmcore, without any key:
      pip install "llmcore-routes[local]" && llmcore local install
      llmcore ask --local "..." """


def add_request_options(parser: argparse.ArgumentParser) -> None:
    """Add the options to *parser*."""
    parser.add_argument("prompt", nargs="*", help="the user message; text on stdin is appended")
    parser.add_argument("-m", "--model", metavar="PROVIDER:ID", help="such as openai:gpt-5.2")
    parser.add_argument("--local", action="store_true", help="ask the embedded local model")
    parser.add_argument("-s", "--system", help="the system prompt")
    parser.add_argument(
        "--image",
        action="append",
        default=[],
        metavar="FILE|URL",
        help="an image to attach; repeatable",
    )
    parser.add_argument("--max-tokens", type=int, metavar="N")
    parser.add_argument("--temperature", type=float, metavar="T")
    parser.add_argument("--reasoning-effort", metavar="LEVEL")
    parser.add_argument(
        "--no-stream",
        dest="stream",
        action="store_false",
        help="print the answer when it is complete",
    )


def make_client() -> Client:
    """Return a client of all providers that the environment configures."""
    return Client.from_env()


def read_request(args: argparse.Namespace, client: Client) -> LLMRequest:
    """Return the request that *args* describe.

    Raises InvalidRequestError without a prompt, ConfigurationError without a usable model.
    """
    return question_of(args, model_of(args, client))


def question_of(args: argparse.Namespace, model: Model) -> LLMRequest:
    """Return the request to *model* that *args* describe."""
    text = "\n\n".join(part for part in (" ".join(args.prompt), _stdin()) if part)
    if not text and not args.image:
        raise InvalidRequestError("there is nothing to ask: give a prompt, or text on stdin")
    images = [_image(source) for source in args.image]
    return request(
        model=model,
        system=args.system,
        messages=[Message.user(text, images) if text else Message.user(images)],
        max_tokens=args.max_tokens,
        temperature=args.temperature,
        reasoning_effort=args.reasoning_effort,
    )


def _stdin() -> str:
    """Return the text on stdin; empty if it is a terminal."""
    if sys.stdin.isatty():
        return ""
    try:
        text = sys.stdin.read()
        text.encode()  # a lone surrogate stands for an undecodable byte
    except UnicodeError as error:
        message = (
            f"stdin is not {sys.stdin.encoding} text: convert it first, for example with iconv"
        )
        raise InvalidRequestError(message, cause=error) from error
    return text.strip()


def _image(source: str) -> ImagePart:
    remote = source.startswith(("http://", "https://", "data:"))
    return ImagePart(url=source) if remote else ImagePart(path=source)


def model_of(args: argparse.Namespace, client: Client, *, keyless: bool = False) -> Model:
    """Return the model that *args* name.

    Raises ConfigurationError if its provider is not configured, unless *keyless* is set.
    """
    if args.local:
        from llmcore.routes.local import Local

        if args.model:
            raise InvalidRequestError("give either --local or --model, and not both")
        return Local.configure().model()
    named, colon, model_id = (args.model or "").partition(":")
    if colon and not (named.strip() and model_id.strip()):
        raise InvalidRequestError(
            f"--model must be PROVIDER:ID, such as openai:gpt-5.2, not {args.model!r}"
        )
    named = PROVIDER_ALIASES.get(named, named)
    if colon and named not in client.providers:
        return _unconfigured(named, client, keyless=keyless).model(model_id)
    if not client.providers:
        raise ConfigurationError(_NO_PROVIDER)
    if not args.model:
        known = ", ".join(client.providers)
        raise ConfigurationError(f"no model given: set --model PROVIDER:ID (configured: {known})")
    model, provider = (model_id, named) if colon else (args.model, None)
    return client.resolve(request(model=model, provider=provider, prompt="")).unwrap()


def _unconfigured(named: str, client: Client, *, keyless: bool) -> Facade:
    """Return the provider *named* if it needs no key or a login; else raise ConfigurationError."""
    entries = {entry.id: entry for entry in provider_entries()}
    if named not in entries:
        near = difflib.get_close_matches(named, entries, 1)
        hint = f": did you mean {near[0]!r}?" if near else " (`llmcore providers` lists them all)"
        raise ConfigurationError(f"there is no provider {named!r}{hint}")
    entry = entries[named]
    if keyless or entry.login is not None or not entry.switches:
        return entry.from_environ(client.environ)
    raise ConfigurationError(
        f"the provider {named!r} is not configured: set {' or '.join(entry.switches)}"
        ", or use the small local model with --local"
    )
