"""The protocols that tests run over: those of the library, and the example of the guide.

A protocol of the library is in `PROTOCOL_IDS`, and its column in `COLUMNS` of `wire.matrix`. One in
`tests/support/`, as the example is, is found there by its `stream` module, and its `COLUMN` in the
module of the same name in `wire`.
"""

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from llmcore import protocols
from llmcore.protocols import PROTOCOL_IDS
from llmcore.protocols.protocol import Protocol, protocol_by_id
from tests.support.wire.matrix import COLUMNS, Column

_PACKAGES: Final = sorted(module.parent for module in Path(__file__).parent.glob("*/stream.py"))
_EXAMPLES: Final[dict[str, ModuleType]] = {
    folder.name.replace("_", "-"): import_module(f"tests.support.{folder.name}")
    for folder in _PACKAGES
}

PROTOCOLS: Final[dict[str, Protocol[Any, Any, Any]]] = {
    **{id_: protocol_by_id(id_) for id_ in PROTOCOL_IDS},
    **{id_: package.protocol for id_, package in _EXAMPLES.items()},
}

FOLDERS: Final[dict[str, Path]] = {
    **{id_: Path(*protocols.__path__, id_.replace("-", "_")) for id_ in PROTOCOL_IDS},
    **dict(zip(_EXAMPLES, _PACKAGES, strict=True)),
}
"""Where the packages are."""

EVERY_COLUMN: Final[tuple[Column, ...]] = (
    *COLUMNS,
    *(import_module(f"tests.support.wire.{folder.name}").COLUMN for folder in _PACKAGES),
)
