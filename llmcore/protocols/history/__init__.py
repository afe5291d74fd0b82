"""History repair: changes a conversation so that its target accepts it.

Histories are trimmed, stored, edited and carried from one provider to the next; each
provider has its own rules for what may follow what. `repair` is a pure function from the
caller's messages to messages that keep the rules of a `HistoryPolicy`. A protocol declares its
policy and lowers the result message by message. Every loss, change and addition is a Diagnostic
whose path points into the caller's messages. An example for the Messages API:

    before                                        after
                                                  user       (earlier messages are left out)
    assistant  Hello!                             assistant  Hello!
    user       Weather in Paris?                  user       Weather in Paris?
    user       And Rome?                                     And Rome?
    assistant  call_1 weather, call_2 weather     assistant  call_1 weather, call_2 weather
    tool       result of call_2: 19 C             tool       result of call_1: No result: ...
                                                             result of call_2: 19 C
    user       Thanks                                        Thanks

    messages[0]: added: first-message-added; messages[2]: noted: roles-merged;
    messages[3].content[0]: added: tool-result-missing

The result is the same in every process, repairing it again changes nothing, and a longer
conversation repairs to the same messages plus new ones: prompt caches stay warm, and
reasoning that a provider binds to all that is before it stays valid. Messages that
need no repair come back as the same objects.

In reading order: `clean` (the rules of a target, families of model ids, and each message by
itself), `pair_calls` (calls and their results), `repair` (the order of all messages, and the steps
in order).
"""

from llmcore.protocols.history.clean import (
    ITEM_FIELDS,
    PART_FIELDS,
    HistoryPolicy,
    LoweringTarget,
    Refused,
    model_family,
    native_provider_ids,
    refused_file,
)
from llmcore.protocols.history.repair import Repaired, is_question, repair

__all__ = [
    "ITEM_FIELDS",
    "PART_FIELDS",
    "HistoryPolicy",
    "LoweringTarget",
    "Refused",
    "Repaired",
    "is_question",
    "model_family",
    "native_provider_ids",
    "refused_file",
    "repair",
]
