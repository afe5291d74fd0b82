"""Old names of `native_json`."""

from llmcore.protocols.native_json import json_or_text as parsed
from llmcore.protocols.native_json import text_or_json as written

__all__ = ["parsed", "written"]
