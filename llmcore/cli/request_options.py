"""The options for the prompt, the model and generation, and the request built from them.

What the options leave open is taken from the template (`-t`), from the conversation that is
continued, and from the user's configuration, in this order.
"""

import argparse
import io
import os
import re
import sys
from typing import Final

from llmcore.catalog import get_model_info
from llmcore.catalog.model_names import PROVIDER_ALIASES
from llmcore.cli.attachments import (
    CONVERT,
    UTF16_MARKS,
    attachment,
    decoded_utf16,
    schema_of,
    user_object,
)
from llmcore.cli.failures import UsageError
from llmcore.cli.stored_keys import with_stored_keys
from llmcore.cli.user_config import Template, UserConfig, read_config
from llmcore.client.client import Client
from llmcore.client.environment import provider_entries, unknown_provider
from llmcore.generation.execution import AnyTool
from llmcore.generation.next_step import ToolInput, current_tools, definitions_of
from llmcore.generation.object_schema import ObjectSchema
from llmcore.generation.tool import Tool
from llmcore.routes.providers import ModelSource, split_api
from llmcore.schema.content import ImagePart
from llmcore.schema.errors import ConfigurationError, InvalidRequestError, install_extra
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import shown_kind
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest, request
from llmcore.schema.result import Failure

_NO_PROVIDER = f"""no provider is configured. Either
  - set a key, such as OPENAI_API_KEY or ANTHROPIC_API_KEY (`llmcore providers` lists them all), or
  - store one: llmcore keys set openai, or
  - run the small model that comes with llmcore, without any key:
      {install_extra("local")} && llmcore local install
      llmcore ask --local 'Why is the sky blue?'"""


def make_client() -> Client:
    """Return a client of all providers that the environment and stored keys configure."""
    return Client.from_env(environ=with_stored_keys(os.environ))


@frozen(kw_only=True)
class Options:
    """The options of one command, with what the user's configuration adds."""

    args: argparse.Namespace
    config: UserConfig
    template: Template

    @classmethod
    def of(cls, args: argparse.Namespace) -> "Options":
        """Return the options *args*. Raises ConfigurationError, UsageError."""
        config = read_config(os.environ)
        template = config.template(args.template) if args.template else Template()
        if args.param and not args.template:
            raise UsageError("-p NAME=VALUE fills a template: give -t NAME")
        return cls(args=args, config=config, template=template)

    def model(
        self, client: Client, continued: str | None = None, *, keyless: bool = False
    ) -> Model:
        """Return the model to ask; *continued* is that of the conversation so far.

        Raises ConfigurationError if its provider is not configured, unless *keyless* is set.
        """
        named = self.args.model or (None if self.args.local else self.template.model or continued)
        named = named or (None if self.args.local else self.config.get("model"))
        resolved = self.config.model_named(named) if named else None
        return model_of(
            resolved, client, local=self.args.local, local_by="--local", keyless=keyless
        )

    @property
    def has_input(self) -> bool:
        """Whether the options have anything to ask."""
        args = self.args
        return bool(args.prompt or args.image or args.attach or self.template.prompt)

    def question(self, model: Model, *, new: bool = True) -> LLMRequest:
        """Return the request to *model*; instructions of the configuration are those of *new* ones.

        Raises UsageError without a prompt.
        """
        args = self.args
        piped = "" if "-" in args.attach else stdin_text()
        text = "\n\n".join(part for part in (decoded(" ".join(args.prompt)), piped) if part)
        text = self.template.fill(text, dict(map(_parameter, args.param)))
        parts = [*map(ImagePart.of, args.image), *map(attachment, args.attach)]
        if not text and not parts:
            raise UsageError("there is nothing to ask: give a prompt, or text on stdin")
        return request(
            model=model,
            system=self.system(new=new),
            messages=[Message.user(text, parts) if text else Message.user(parts)],
            tools=definitions_of(self.tools),
            max_tokens=args.max_tokens,
            temperature=args.temperature,
            reasoning_effort=args.reasoning_effort,
        )

    def system(self, *, new: bool = True) -> str | None:
        """Return the instructions of a conversation, those of the configuration if it is *new*.

        An empty `--system` is for none.
        """
        if self.args.system is not None:
            return decoded(self.args.system) or None
        return self.template.system or self.config.get("system") if new else None

    @property
    def tools(self) -> tuple[AnyTool, ...]:
        """The user's functions that the model may call."""
        return current_tools([_function(reference) for reference in self.args.tool])

    @property
    def schema(self) -> ObjectSchema | None:
        """The schema of the response; None for text."""
        return ObjectSchema.of(schema_of(self.args.schema)) if self.args.schema else None


def _function(reference: str) -> ToolInput:
    value = user_object(reference)
    if not callable(value) and not isinstance(value, Tool):
        raise InvalidRequestError(f"{reference} is {shown_kind(value)}, not a function")
    return value


def _parameter(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"-p {text!r} is not NAME=VALUE")
    return name, value


def decoded(words: str) -> str:
    """Return *words* of the command line, read as UTF-8 if the locale cannot decode them.

    Raises UsageError for words that are not UTF-8 either.
    """
    lone_surrogates = re.search("[\ud800-\udfff]", words)  # represent bytes
    try:
        return os.fsencode(words).decode() if lone_surrogates else words
    except UnicodeError as error:
        message = "an argument is not UTF-8 text: convert it first, for example with iconv"
        raise UsageError(message, cause=error) from error


def stdin_text() -> str:
    """Return the text on stdin; empty if it is a terminal. InvalidRequestError for bytes."""
    if sys.stdin.isatty():
        return ""
    try:
        text = _read_stdin()
        text.encode()  # a lone surrogate represents an undecodable byte
    except UnicodeError as error:
        message = (
            f"stdin is not {sys.stdin.encoding} text: attach a file, such as an image, with -a -; "
            f"if it is text, {CONVERT}"
        )
        raise InvalidRequestError(message, cause=error) from error
    return text.removeprefix(_MARK).strip()


def _read_stdin() -> str:
    if not isinstance(sys.stdin, io.TextIOWrapper):
        return sys.stdin.read()
    data = sys.stdin.buffer.read()
    if data.startswith(UTF16_MARKS) and (text := decoded_utf16(data)) is not None:
        return text
    encoding, errors = sys.stdin.encoding, sys.stdin.errors
    return io.TextIOWrapper(io.BytesIO(data), encoding=encoding, errors=errors).read()


_MARK: Final = "\ufeff"
"""Programs of Windows begin UTF-8 with it."""


def model_of(
    name: str | None,
    client: Client,
    *,
    local: bool = False,
    local_by: str = "",
    keyless: bool = False,
) -> Model:
    """Return the model *name*, or the embedded one if *local* is set.

    *local_by* is what selects the embedded model, for errors; empty if it does not serve instead.
    Raises ConfigurationError if its provider is not configured, unless *keyless* is set.
    """
    if local:
        from llmcore.routes.local import Local

        return Local().model()
    named, colon, model_id = (name or "").partition(":")
    if colon and not (named.strip() and model_id.strip()):
        raise InvalidRequestError(
            f"--model must be PROVIDER:ID, such as openai:gpt-5.2, not {name!r}"
        )
    provider = named if named in client.providers else split_api(named)[0]
    provider = PROVIDER_ALIASES.get(provider, provider)
    if colon and provider not in client.providers:
        facade = _unconfigured(provider, client, local_by=local_by, keyless=keyless)
        client = Client(providers={provider: facade}, environ=client.environ)
    known = get_model_info(name) if name and not colon else None
    if not client.providers and known is None:
        raise ConfigurationError(_NO_PROVIDER)
    if not name:
        raise no_model(client)
    resolved = client.resolve(LLMRequest(model=name, messages=()))
    if isinstance(resolved, Failure) and known and (keyless or not client.providers):
        maker = _unconfigured(known.provider, client, local_by=local_by, keyless=keyless)
        return maker.model(name)
    return resolved.unwrap()


def no_model(client: Client) -> ConfigurationError:
    """Return the error for a command without a model."""
    known = ", ".join(client.providers)
    return ConfigurationError(
        f"no model given: use --model PROVIDER:ID, or set a default with "
        f"`llmcore config set model PROVIDER:ID` (configured: {known})"
    )


def _unconfigured(named: str, client: Client, *, local_by: str, keyless: bool) -> ModelSource:
    """Return the provider *named* if it needs no key or a login; else raise ConfigurationError."""
    entry = provider_entries().get(named)
    if entry is None:
        raise unknown_provider(named)
    if keyless or entry.works_without_variables:
        return entry.from_environ(client.environ)
    remedies = [
        f"set {' or '.join(entry.switches)}",
        f"store a key with `llmcore keys set {named}`",
        f"use the small local model with {local_by}" if local_by else "",
    ]
    *others, last = filter(None, remedies)
    raise ConfigurationError(
        f"the provider {named!r} is not configured: {', '.join(others)}, or {last}"
    )
