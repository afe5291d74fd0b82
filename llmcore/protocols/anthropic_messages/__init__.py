"""Anthropic Messages: `POST /v1/messages`, as Anthropic and those who serve Claude speak it.

Documents, read November 2026: https://platform.claude.com/docs/en/api/messages and
https://platform.claude.com/docs/en/build-with-claude/streaming; others are linked where their rules
are.

In reading order: `names` (ids, words and tables of both directions), `models` (what each accepts);
building the request: `body`, `messages`, `turns` (unfinished ones), `parts`, `tools`, `caching`;
reading the response: `state`, `content`, `calls`, `finish`, `stream`. The rules of Claude's models,
for all providers, are in `llmcore.protocols.claude`. `contract` is the API as strict values; the
protocol itself reads and writes plain JSON.
"""

from collections.abc import Mapping
from functools import partial

from llmcore.protocols.anthropic_messages import body, finish, names, stream
from llmcore.protocols.anthropic_messages.models import RulesOf, rules_of
from llmcore.protocols.anthropic_messages.names import METADATA_KEY, PROTOCOL_ID, MessagesBody
from llmcore.protocols.anthropic_messages.state import Event, MessagesState
from llmcore.protocols.protocol import (
    BodyBuilder,
    CacheMark,
    Protocol,
    StreamMachine,
    TokenCounting,
)


def make(
    *,
    rules_of: RulesOf = rules_of,
    system_messages: bool = True,
    service_tiers: Mapping[str, str] = names.SERVICE_TIERS,
) -> Protocol[MessagesBody, Event, MessagesState]:
    """Return the protocol for a platform.

    *rules_of* returns what it accepts for a model. Not all take instructions among the messages.
    *service_tiers* are the platform's words by those of `GenerationOptions`.
    """
    build = partial(
        body.from_request,
        rules_of=rules_of,
        system_messages=system_messages,
        service_tiers=service_tiers,
    )
    return Protocol(
        id=PROTOCOL_ID,
        api=names.API_NAME,
        path="/messages",
        prompt=("model", "tools", "system", "messages"),
        is_own=stream.is_own,
        advice="use Anthropic(base_url=...)",
        family="anthropic",
        metadata_key=METADATA_KEY,
        tool_names=names.TOOL_NAMES,
        cache_mark=CacheMark("breakpoint", "cache_control"),
        needs_output_limit=True,
        count_tokens=TokenCounting(
            endpoint="/messages", target="/messages/count_tokens", fields=body.COUNTED
        ),
        paused=names.PAUSED,
        hosted_kinds=frozenset({"web_search", "web_fetch", "code_execution", "mcp"}),
        prefills=lambda model_id: "claude" in model_id.lower() and rules_of(model_id).prefill,
        body=BodyBuilder(build=build),
        stream=StreamMachine(
            decode=stream.decode,
            initial=partial(stream.initial, rules_of=rules_of),
            step=stream.step,
            fast_reader=stream.fast_reader,
            halt=stream.halt,
            terminal=stream.terminal,
            usage=finish.stated_usage,
            one_text=partial(finish.one_text, fast_reader=stream.fast_reader),
            deltas=stream.DELTAS,
        ),
        whole=partial(stream.whole, rules_of=rules_of),
        skim=finish.skim,
    )


protocol: Protocol[MessagesBody, Event, MessagesState] = make()

__all__ = [
    "MessagesBody",
    "make",
    "protocol",
]
