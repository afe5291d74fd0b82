"""Old names of `native_json`."""

from llmcore.protocols.native_json import count_or_none as count
from llmcore.protocols.native_json import int_or_none as integer
from llmcore.protocols.native_json import object_or_empty as mapping
from llmcore.protocols.native_json import objects as dicts
from llmcore.protocols.native_json import str_or_none as string

__all__ = ["count", "dicts", "integer", "mapping", "string"]
