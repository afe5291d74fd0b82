"""Which recorded tests run, and where their cassettes are.

Imported when pytest starts, so it stays with the standard library.
"""

import re
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    import pytest

MARKER = (
    "cassette(name=None, *, provider=None, protocol=None, tags=(), prefix=None, requires=(), "
    "headers=(), order='recorded', realtime=False): the exchanges that the test replays"
)
_OPTIONS = frozenset(
    {"provider", "protocol", "tags", "prefix", "requires", "headers", "order", "realtime"}
)
_ORDERS = ("recorded", "any")
_BACKEND = re.compile(r"(?:^|-)(?:asyncio|trio)(?:\+[a-z]+)?(?=-|$)")
_LONGEST_NAME = 100


class RecordedTest(NamedTuple):
    """A test that has a cassette, with the settings of its module and its marks."""

    test_id: str
    """The test's name as it is in file names: `streams-text`."""
    name: str
    """The cassette's name: its path below the cassette directory, without `.json`."""
    node_id: str
    provider: str | None
    protocol: str | None
    tags: tuple[str, ...]
    requires: tuple[str, ...]
    """Environment variables without which it cannot be recorded."""
    headers: tuple[str, ...]
    """More request headers to keep and compare."""
    order: Literal["recorded", "any"]
    realtime: bool

    def path(self, directory: Path) -> Path:
        """Return the cassette's file."""
        return directory / f"{self.name}.json"

    @property
    def searchable_tags(self) -> frozenset[str]:
        """The tags, and other properties in the form of tags: `provider:openai`."""
        facts = {"provider": self.provider, "protocol": self.protocol}
        return frozenset({*self.tags, *(f"{name}:{fact}" for name, fact in facts.items() if fact)})


class Selection(NamedTuple):
    """The selected recorded tests; an empty field selects all."""

    providers: tuple[str, ...] = ()
    """The providers, of which a test must have one."""
    prefixes: tuple[str, ...] = ()
    """The folders, one of which must contain the cassette."""
    tags: tuple[str, ...] = ()
    """The tags, all of which a test must have."""
    tests: tuple[str, ...] = ()
    """Texts, one of which must be in the test's name or id, or in the cassette's path."""

    @classmethod
    def of(cls, options: Mapping[str, str | None], environ: Mapping[str, str]) -> "Selection":
        """Read comma-separated lists from *options*, or else from `RECORDED_PROVIDER` etc."""

        def words(name: str) -> tuple[str, ...]:
            text = options.get(name) or environ.get(f"RECORDED_{name.upper()}", "")
            return tuple(word.strip() for word in text.split(",") if word.strip())

        return cls(words("provider"), words("prefix"), words("tags"), words("test"))

    def wants(self, test: RecordedTest) -> bool:
        """Return whether *test* is one of those selected."""
        return (
            (not self.providers or test.provider in self.providers)
            and (not self.prefixes or any(_is_below(test.name, prefix) for prefix in self.prefixes))
            and test.searchable_tags.issuperset(self.tags)
            and (not self.tests or any(_is_named(test, name) for name in self.tests))
        )

    def __str__(self) -> str:
        return ", ".join(
            f"{name} {' '.join(words)}" for name, words in self._asdict().items() if words
        )


def describe(item: "pytest.Item") -> RecordedTest:
    """Return the settings of *item* by its place and its `cassette` marks, the closest first.

    Raises ValueError for an invalid mark.
    """
    marks = list(item.iter_markers("cassette"))
    options = _options(marks)
    test_id = _test_id(item)
    derived = f"{options.get('prefix') or _module_id(item)}/{test_id}"
    name = next((mark.args[0] for mark in marks if mark.args), derived)
    if not _is_safe(name):
        raise ValueError(f"{name!r} is not a path below the cassette directory")
    return RecordedTest(
        test_id=test_id,
        name=name,
        node_id=item.nodeid,
        provider=options.get("provider"),
        protocol=options.get("protocol"),
        tags=_all(marks, "tags"),
        requires=_all(marks, "requires"),
        headers=_all(marks, "headers"),
        order=options.get("order", "recorded"),
        realtime=options.get("realtime", False),
    )


def _options(marks: "Iterable[pytest.Mark]") -> dict[str, Any]:
    options: dict[str, Any] = {}
    for mark in marks:
        complaint = _complaint(mark)
        if complaint:
            raise ValueError(f"{complaint}; it is {MARKER}")
        options = {**mark.kwargs, **options}
    return options


def _complaint(mark: "pytest.Mark") -> str:
    """Return the fault in *mark*; empty if it is valid."""
    unknown = mark.kwargs.keys() - _OPTIONS
    if unknown:
        return f"pytest.mark.cassette takes no {', '.join(sorted(unknown))}"
    if len(mark.args) > 1:
        return "pytest.mark.cassette takes one name"
    for name in ("tags", "requires", "headers"):
        if isinstance(mark.kwargs.get(name), str):
            return f"pytest.mark.cassette's {name} is a list of texts"
    if mark.kwargs.get("order", "any") not in _ORDERS:
        return f"pytest.mark.cassette's order is one of {', '.join(_ORDERS)}"
    return ""


def _all(marks: "Iterable[pytest.Mark]", name: str) -> tuple[str, ...]:
    """Return the items that all *marks* list under *name*."""
    return tuple(dict.fromkeys(word for mark in marks for word in mark.kwargs.get(name, ())))


def _test_id(item: "pytest.Item") -> str:
    """Return the test's name, its class and its parameters; not the event loop it runs on."""
    spec = getattr(item, "callspec", None)
    function = getattr(item, "originalname", None) or item.name
    nodes = (node for node in item.listchain() if type(node).__name__ == "Class")
    classes = [node.name.removeprefix("Test") for node in nodes]
    parameters = _BACKEND.sub("", spec.id).strip("-") if spec else ""
    words = [*classes, function.removeprefix("test_"), parameters]
    return _file_name("-".join(word for word in words if word))


def _module_id(item: "pytest.Item") -> str:
    """Return the path of *item*'s module from the root, without `tests/` and `test_`."""
    root = item.config.rootpath
    path = (
        item.path.relative_to(root) if item.path.is_relative_to(root) else PurePath(item.path.name)
    )
    parts = [_file_name(part.removeprefix("test_")) for part in path.with_suffix("").parts]
    return "/".join(parts[1:] if len(parts) > 1 and parts[0] == "tests" else parts)


def _file_name(text: str) -> str:
    """Return *text* in letters, digits, dots and dashes; different texts have different results."""
    plain = text.replace("_", "-")
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", plain).strip("-.")
    if slug == plain and len(slug) <= _LONGEST_NAME:
        return slug
    checksum = zlib.crc32(text.encode("utf-8", "backslashreplace"))
    return f"{slug[:_LONGEST_NAME]}-{checksum:08x}".lstrip("-")


def _is_safe(name: object) -> bool:
    """Return whether the path *name* stays below the directory that it is joined to."""
    if not isinstance(name, str) or not name:
        return False
    path = PurePath(name)
    return not path.is_absolute() and ".." not in path.parts


def _is_below(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(f"{prefix.rstrip('/')}/")


def _is_named(test: RecordedTest, wanted: str) -> bool:
    texts = (test.test_id, f"{test.name}.json", test.node_id)
    return any(_dashed(wanted) in _dashed(text) for text in texts)


def _dashed(text: str) -> str:
    return re.sub(r"[\s_-]+", "-", text)
