"""`llmcore doctor`: checks what calls depend on, and prints what is wrong and how to mend it."""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from importlib.util import find_spec
from typing import Final, Literal, TypeAlias
from urllib.request import getproxies

import anyio

from llmcore.cli.conversation import open_store
from llmcore.cli.program import print_json, say, shown_as
from llmcore.cli.stored_keys import stored_names, with_stored_keys
from llmcore.cli.user_config import config_file, read_config
from llmcore.client.environment import provider_entries
from llmcore.client.http.http_transport import HttpTransport
from llmcore.client.http.options import HttpOptions
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.providers import ProviderEntry
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.errors import LLMError
from llmcore.schema.frozen import frozen
from llmcore.version import VERSION

EXTRAS: Final = {
    "fast": "aiohttp",
    "http2": "h2",
    "socks": "socksio",
    "websocket": "websockets",
    "bedrock": "botocore",
    "vertex": "google.auth",
    "local": "xllamacpp",
    "redis": "redis",
    "postgres": "psycopg",
    "mcp": "mcp",
    "otel": "opentelemetry",
    "ray": "ray",
    "bridge": "prometheus_client",
    "cli": "prompt_toolkit",
}
"""A package of each extra, which few programs have for another reason."""

_WRONG_CLOCK = 120
"""Seconds beyond which signatures of cloud providers are rejected."""

_Mark: TypeAlias = Literal["ok", "warning", "fault"]
_MARKS: Final[Mapping[_Mark, tuple[str, str]]] = {
    "ok": ("✓", "+"),
    "warning": ("!", "!"),
    "fault": ("✗", "x"),
}
"""The mark of each line, and the one for terminals whose encoding lacks it."""


@frozen
class _Finding:
    """One line of the report."""

    mark: _Mark
    text: str


def run(args: argparse.Namespace) -> int:
    """Print the findings; the exit code is 1 if there is a fault."""
    findings = [*_local_findings(os.environ)]
    if not args.offline:
        findings += anyio.run(_network_findings, with_stored_keys(os.environ))
    for finding in findings:
        if args.json:
            print_json({"level": finding.mark, "text": finding.text})
        else:
            say(f"{shown_as(*_MARKS[finding.mark])} {finding.text}")
    return 1 if any(finding.mark == "fault" for finding in findings) else 0


def _local_findings(environ: Mapping[str, str]) -> Iterator[_Finding]:
    yield _Finding("ok", f"llmcore {VERSION} on Python {sys.version.split()[0]}, {sys.platform}")
    extras = [name for name, package in EXTRAS.items() if _installed(package)]
    yield _Finding("ok", f"extras that are installed: {', '.join(extras) or 'none'}")
    yield from _files(environ)
    yield from _providers(environ)
    for scheme, proxy in getproxies().items():
        if scheme in ("http", "https", "all"):
            host = proxy.rpartition("@")[2]  # without a password
            yield _Finding("ok", f"requests by {scheme} go through the proxy {host}")


def _installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # the parent package
        return False


def _files(environ: Mapping[str, str]) -> Iterator[_Finding]:
    try:
        read_config(environ)
        yield _Finding("ok", f"configuration: {config_file(environ)}")
    except LLMError as error:
        yield _Finding("fault", f"configuration: {error}")
    try:
        anyio.run(_read_store, environ)
        yield _Finding("ok", "conversations can be read")
    except LLMError as error:
        yield _Finding("fault", f"conversations cannot be read: {error}")


async def _read_store(environ: Mapping[str, str]) -> None:
    async with open_store(environ) as store:
        await store.runs()


def _providers(environ: Mapping[str, str]) -> Iterator[_Finding]:
    try:
        stored = stored_names(environ)
        merged = with_stored_keys(environ)
    except LLMError as error:
        yield _Finding("fault", f"stored keys: {error}")
        return
    entries = provider_entries().values()
    configured = [entry for entry in entries if entry.is_configured(merged)]
    for entry in configured:
        name = next(name for name in entry.switches if merged.get(name, "").strip())
        where = "stored key" if name in stored and not environ.get(name) else "variable"
        wrong = _fault_of_key(entry, name, merged[name])
        if wrong:
            yield _Finding("warning", f"{entry.id}: {name} {wrong}")
        else:
            yield _Finding("ok", f"{entry.id}: {where} {name}")
        try:
            entry.from_environ(merged)
        except LLMError as error:
            yield _Finding("fault", f"{entry.id}: {error.message}")
    if not configured:
        hint = "run `llmcore keys set openai`, set a key such as OPENAI_API_KEY, or use --local"
        yield _Finding("warning", f"no provider is configured: {hint}")


_KEYS_BEGIN: Final = {
    "sk-ant-": "anthropic",
    "sk-proj-": "openai",
    "sk-or-": "openrouter",
    "gsk_": "groq",
    "xai-": "xai",
    "hf_": "huggingface",
    "pplx-": "perplexity",
    "AIza": "google",
}
"""How the keys of some providers begin."""


def _fault_of_key(entry: ProviderEntry, name: str, value: str) -> str:
    """Return the fault in the form of *value*, of the variable *name*; empty if there is none."""
    if value != value.strip() or value.strip()[:1] in ("'", '"'):
        return "has quotes or spaces around it"
    if name not in entry.key_variables:
        return ""
    if not value.isascii() or not value.isprintable() or " " in value:
        return "has a character that no key has"
    if "..." in value or "<" in value or "your" in value.lower():
        return "is a placeholder, not a key"
    owner = next((owner for start, owner in _KEYS_BEGIN.items() if value.startswith(start)), "")
    return f"has the form of a key of {owner}" if owner not in ("", entry.id) else ""


async def _network_findings(environ: Mapping[str, str]) -> list[_Finding]:
    findings: list[_Finding] = []
    async with anyio.create_task_group() as group:
        for name, url in _addresses(environ):
            group.start_soon(_connect, name, url, findings)
    return sorted(findings, key=lambda finding: finding.text)


def _addresses(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield id and base URL of each configured provider whose address does not depend on more."""
    for entry in provider_entries().values():
        if not entry.is_configured(environ):
            continue
        try:
            route = entry.from_environ(environ).model("x").route
        except LLMError:  # reported among the local findings
            continue
        base_url = getattr(getattr(route, "endpoint", None), "base_url", None)
        if isinstance(base_url, str) and base_url.startswith("http"):
            yield entry.id, base_url


async def _connect(name: str, url: str, findings: list[_Finding]) -> None:
    """Send a request without a key to *url*: any response shows that the way is open."""
    transport = HttpTransport(options=HttpOptions())
    started = time.monotonic()
    try:
        with anyio.fail_after(10):
            response = await transport.send(HttpRequest(method="GET", url=url), Timeouts())
            date = response.headers.get("date")
            await response.aclose()
    except (LLMError, TimeoutError) as error:
        reason = error.message if isinstance(error, LLMError) else "no response within 10 s"
        findings.append(_Finding("fault", f"{name}: cannot reach {url}: {reason}"))
        return
    finally:
        await transport.aclose()
    findings.append(_Finding("ok", f"{name}: {url} answers in {time.monotonic() - started:.1f} s"))
    skew = 0.0 if date is None else time.time() - parsedate_to_datetime(date).timestamp()
    if abs(skew) > _WRONG_CLOCK:
        text = f"this machine's clock differs by {skew:.0f} s from that of {name}"
        findings.append(_Finding("fault", f"{text}: providers may reject signatures"))
