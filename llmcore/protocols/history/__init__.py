"""History repair: what a provider would refuse of a conversation, made acceptable.

Histories are trimmed, stored, edited and carried from one provider to the next; each
provider has its own rules for what may follow what. `repair` is a pure function from the
caller's messages to messages that keep the rules a `HistoryPolicy` names. A protocol
declares its policy and lowers the result message by message. Every loss, change and
invention is a Diagnostic whose path points into the caller's messages.

The result is the same in every process, repairing it again changes nothing, and a longer
conversation repairs to the same messages plus new ones: prompt caches stay warm, and
reasoning that a provider binds to all that stands before it stays valid. Messages that
need no repair come back as the same objects.

In reading order: `policy` (what a target takes, and which model ids mean one model), `clean` (each
message by itself), `pair_calls` (calls and their results), `repair` (the order of all messages, and
the steps in order).
"""

from llmcore.protocols.history.policy import (
    HistoryPolicy,
    LoweringContext,
    model_family,
    native_provider_ids,
)
from llmcore.protocols.history.repair import Repaired, repair

__all__ = [
    "HistoryPolicy",
    "LoweringContext",
    "Repaired",
    "model_family",
    "native_provider_ids",
    "repair",
]
