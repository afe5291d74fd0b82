"""The protocols that tests run over: those of the library, and the example of the guide.

A protocol of the library is in `PROTOCOL_IDS`, and its column in `COLUMNS` of `wire.matrix`. One in
`tests/support/`, as the example is, has a row in `EXAMPLES` instead of both.
"""

from pathlib import Path
from types import ModuleType
from typing import Any, Final

from llmcore import protocols
from llmcore.protocols import PROTOCOL_IDS
from llmcore.protocols.protocol import Protocol, protocol_by_id
from tests.support import parley
from tests.support.wire.matrix import COLUMNS, Column
from tests.support.wire.parley import PARLEY

EXAMPLES: Final[dict[str, tuple[ModuleType, Column]]] = {"parley": (parley, PARLEY)}
"""Package and column of each example, by its id."""

PROTOCOLS: Final[dict[str, Protocol[Any, Any, Any]]] = {
    **{id_: protocol_by_id(id_) for id_ in PROTOCOL_IDS},
    **{id_: package.protocol for id_, (package, _) in EXAMPLES.items()},
}

FOLDERS: Final[dict[str, Path]] = {
    **{id_: Path(*protocols.__path__, id_.replace("-", "_")) for id_ in PROTOCOL_IDS},
    **{id_: Path(*package.__path__) for id_, (package, _) in EXAMPLES.items()},
}
"""Where the packages are."""

EVERY_COLUMN: Final = (*COLUMNS, *(column for _, column in EXAMPLES.values()))
