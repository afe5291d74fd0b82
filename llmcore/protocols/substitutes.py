"""Text that stands where a part cannot be sent in a form of its own."""

import re

from llmcore.protocols import media
from llmcore.protocols.notes import Notes
from llmcore.schema.content import DocumentPart


def left_out(what: str, path: str, why: str, notes: Notes, words: str | None = None) -> str:
    """Return what stands for content that is left out, and note it; *words* say what it was."""
    notes.dropped(
        "unsupported-content",
        path,
        f"{what} was left out ({why}); a short text stands in its place",
    )
    return f"[{what}, left out{f': {words}' if words else ''}]"


def tagged_text(tag: str, text: str, attributes: str = "") -> str:
    """Return *text* inside a tag, which no closing tag in the text can end."""
    escaped = re.sub(rf"<(?=\s*/\s*{tag}\b)", "&lt;", text, flags=re.IGNORECASE)
    return f"<{tag}{attributes}>\n{escaped}\n</{tag}>"


def document_text(part: DocumentPart, text: str) -> str:
    """Return a text document inside a tag that says what it is."""
    facts = {"name": part.name, "title": part.title, "context": part.context}
    said = "".join(f' {name}="{_quoted(fact)}"' for name, fact in facts.items() if fact)
    return tagged_text("document", text, said)


def _quoted(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;")


def file_name(part: DocumentPart) -> str:
    """Return the document's name, or one with the ending that tells the server the format."""
    if part.name or part.title:
        return str(part.name or part.title)
    ending = media.document_format(media.media_type_of(part) or "")
    return f"document.{ending}" if ending else "document"
