"""The options that say what to ask and whom, for the commands that build a request."""

import argparse
import sys

from llmcore.client.client import Client
from llmcore.client.environment import provider_entries
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
    parser.add_argument("prompt", nargs="*", help="what to ask; text on stdin is added to it")
    parser.add_argument("-m", "--model", metavar="PROVIDER:ID", help="such as openai:gpt-5.2")
    parser.add_argument("--local", action="store_true", help="ask the embedded local model")
    parser.add_argument("-s", "--system", help="instructions to the model")
    parser.add_argument(
        "--image", action="append", default=[], metavar="FILE|URL", help="a picture; repeatable"
    )
    parser.add_argument("--max-tokens", type=int, metavar="N")
    parser.add_argument("--temperature", type=float, metavar="T")
    parser.add_argument("--reasoning-effort", metavar="LEVEL")
    parser.add_argument(
        "--no-stream", dest="stream", action="store_false", help="wait for the whole answer"
    )


def make_client() -> Client:
    """Return a client of everything the environment configures."""
    return Client.from_env()


def read_request(args: argparse.Namespace, client: Client) -> LLMRequest:
    """Return the request that *args* describe.

    Raises InvalidRequestError without a question, ConfigurationError without anybody to ask.
    """
    text = "\n\n".join(part for part in (" ".join(args.prompt), _stdin()) if part)
    if not text and not args.image:
        raise InvalidRequestError("there is nothing to ask: give a prompt, or text on stdin")
    pictures = [_picture(source) for source in args.image]
    model, provider = _model(args, client)
    return request(
        model=model,
        provider=provider,
        system=args.system,
        messages=[Message.user(text, pictures) if text else Message.user(pictures)],
        max_tokens=args.max_tokens,
        temperature=args.temperature,
        reasoning_effort=args.reasoning_effort,
    )


def _stdin() -> str:
    """Return the text on stdin; none of a terminal's."""
    if sys.stdin.isatty():
        return ""
    try:
        text = sys.stdin.read()
        text.encode()  # half a surrogate pair stands for a byte that is no text
    except UnicodeError as error:
        message = f"stdin is no {sys.stdin.encoding} text: convert it first, such as by iconv"
        raise InvalidRequestError(message, cause=error) from error
    return text.strip()


def _picture(source: str) -> ImagePart:
    remote = source.startswith(("http://", "https://", "data:"))
    return ImagePart(url=source) if remote else ImagePart(path=source)


def _model(args: argparse.Namespace, client: Client) -> tuple[Model | str, str | None]:
    if args.local:
        from llmcore.routes.local import Local

        if args.model:
            raise InvalidRequestError("give either --local or --model, and not both")
        return Local.configure().model(), None
    provider, colon, model_id = (args.model or "").partition(":")
    if colon and not (provider.strip() and model_id.strip()):
        raise InvalidRequestError(
            f"--model is PROVIDER:ID, such as openai:gpt-5.2, not {args.model!r}"
        )
    if colon and provider not in client.providers:
        model = _by_login(provider, model_id, client)
        if model is not None:
            return model, None
    if not client.providers:
        raise ConfigurationError(_NO_PROVIDER)
    if not args.model:
        known = ", ".join(client.providers)
        raise ConfigurationError(f"which model? Give --model PROVIDER:ID (configured: {known})")
    if not colon:
        return args.model, client.default_provider
    return model_id, provider


def _by_login(provider: str, model_id: str, client: Client) -> Model | None:
    """Return a model of a provider that a login does for; None if it is no such provider.

    Whether somebody has logged in is seen when the request is sent.
    """
    for entry in provider_entries():
        if entry.id == provider and entry.login is not None:
            return entry.from_environ(client.environ).model(model_id)
    return None
