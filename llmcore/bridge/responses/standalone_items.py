"""Items that come whole: pictures drawn without a call, and what an upstream made natively."""

from collections.abc import Callable
from typing import Any

from llmcore.bridge.fronts.opaque_state import Shown
from llmcore.bridge.responses.answer_record import AnswerRecord, part_of
from llmcore.bridge.responses.event_writer import EventWriter
from llmcore.bridge.responses.hosted_items import LIFECYCLE, picture
from llmcore.protocols.loose_json import mapping, string
from llmcore.protocols.notes import Notes
from llmcore.schema.content import ContentPart
from llmcore.schema.events import File, ProviderEvent

Item = dict[str, Any]


def show_file(
    event: File,
    new_id: Callable[[str], str],
    writer: EventWriter,
    record: AnswerRecord,
    notes: Notes,
) -> None:
    """Show a picture; any other file is kept, and named in a Diagnostic."""
    part, result = part_of(event), picture(event)
    if result is None or not str(event.media_type).startswith("image/"):
        why = "a file that is no picture has no form here; it stays in the conversation"
        notes.dropped("file-dropped", f"output[{writer.index}]", why)
        record.show(part)
        return
    show_item(_picture_item(new_id("ig"), result, event.media_type), writer)
    if part is not None:
        record.add(Shown(parts=(part,), item_type="image_generation_call"))


def show_native(
    event: ProviderEvent, part: ContentPart, writer: EventWriter, record: AnswerRecord
) -> None:
    """Show an item of a Responses upstream as it is; what others made is kept unseen."""
    item = _native_item(event.data, event.provider)
    if item is None:
        record.show(part)
        return
    show_item(item, writer)
    record.add(Shown(parts=(part,), item_type=str(item["type"])))


def show_item(item: Item, writer: EventWriter) -> None:
    """Show an item from its beginning to its end."""
    type_ = str(item["type"])
    begun = {**item, "status": "in_progress"} if "status" in item else item
    writer.item_added({**begun, "result": None} if "result" in item else begun)
    for name in LIFECYCLE.get(type_, ()):
        writer.write(f"response.{type_}.{name}", item_id=item["id"], output_index=writer.index)
    writer.item_done(item)


def _picture_item(item_id: str, result: str, media_type: str | None) -> Item:
    form = (media_type or "image/png").partition("/")[2].partition("+")[0]
    return {
        "id": item_id,
        "type": "image_generation_call",
        "status": "completed",
        "result": result,
        **({"output_format": form} if form in ("png", "webp", "jpeg", "gif", "svg") else {}),
    }


def _native_item(data: Any, provider: str) -> Item | None:
    """Return what the upstream's own Responses API made, such as a compaction; else None."""
    native = mapping(data)
    is_item = string(native.get("type")) and string(native.get("id"))
    return dict(native) if provider == "openai" and is_item else None
