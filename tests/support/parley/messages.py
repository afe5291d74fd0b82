"""Parley: lowering the conversation.

{"turns": [{"by": "person", "say": [{"text": "Hi"}]},
{"by": "model", "say": [{"call": {"id": "c1", "name": "f", "input": {}}}]},
{"by": "person", "say": [{"result": {"id": "c1", "text": "4"}}]}]}
"""

from llmcore.protocols.diagnostics import Notes
from llmcore.protocols.history import HistoryPolicy, native_provider_ids, repair
from llmcore.schema.request import LLMRequest
from tests.support.parley.names import CALL_IDS, METADATA_KEY, PROTOCOL_ID, ROLES, NativeObject
from tests.support.parley.parts import ParleyTarget, lower_part


def target_of(request: LLMRequest) -> ParleyTarget:
    """Return the target of the messages of *request*."""
    policy = HistoryPolicy(
        protocol=PROTOCOL_ID,
        provider=request.provider_id,
        model=request.model_id,
        metadata_key=METADATA_KEY,
        call_ids=CALL_IDS,
        alternate=True,
        starts_with_user=True,
        system_messages="lift",
        empty_text="drop_empty",
    )
    return ParleyTarget(policy=policy, keys=native_provider_ids(request, METADATA_KEY))


def lower_messages(
    request: LLMRequest, target: ParleyTarget, notes: Notes
) -> tuple[str, list[NativeObject]]:
    """Return `rules`, the text of the system, and `turns`."""
    repaired = repair(request.messages, target.policy)
    notes.extend(repaired.diagnostics)
    turns: list[NativeObject] = []
    for message, path in zip(repaired.messages, repaired.paths, strict=True):
        if message.name:
            notes.dropped("unsupported-parameter", f"{path}.name", "the API takes no names")
        said = [
            lower_part(part, f"{path}.content[{index}]", target, notes)
            for index, part in enumerate(message.content)
        ]
        turns.append({"by": ROLES[message.role], "say": said})
    texts = [part.text for part in (*request.system, *repaired.system)]
    return "\n\n".join(filter(None, texts)), turns
