"""The configuration file: its tables, and the line of each key."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.bridge.configuration.document import dotted, parse_document, read_document
from llmcore.schema.errors import ConfigurationError

PATH = Path("openbridge.toml")

TEXT = '''# a comment

[server]
host = "::1"    # another

[[upstreams]]
name = "a"
variables = { A = "1", B.C = "2" }

[[upstreams]]
name = """
[not.a.header]
"""
[upstreams.limits]
requests = 1

[models."gpt-5.5"]
targets = [
    "a/x",
    { upstream = "b" },
]
aliases = []
'''


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ((), 1),
        (("server",), 3),
        (("server", "host"), 4),
        (("server", "port"), 3),
        (("upstreams", 0), 6),
        (("upstreams", 0, "variables", "B", "C"), 8),
        (("upstreams", 1), 10),
        (("upstreams", 1, "name"), 11),
        (("upstreams", 1, "limits", "requests"), 15),
        (("models", "gpt-5.5", "targets", 1, "upstream"), 18),
        (("models", "gpt-5.5", "aliases"), 22),
    ],
)
def test_each_key_has_its_line_or_that_of_the_table_around_it(
    keys: tuple[str | int, ...], line: int
) -> None:
    assert parse_document(PATH, TEXT).line(keys) == line


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a = 1\nb = }\n", "openbridge.toml line 2: Invalid value"),
        ("a = 1\na = 2\n", "openbridge.toml line 2: Cannot overwrite a value"),
        ('a = 1\n\nb = "', "openbridge.toml line 3: Unterminated string"),
        ("[x]\n[x]\n", "openbridge.toml line 2: "),
    ],
)
def test_a_syntax_error_has_its_line(text: str, says: str) -> None:
    with pytest.raises(ConfigurationError) as found:
        parse_document(PATH, text)
    assert found.value.message.startswith(says)


@pytest.mark.parametrize("value", ["[" * 5000 + "]" * 5000, "9" * 5000])
def test_value_that_cannot_be_read_is_a_configuration_error(value: str) -> None:
    """Valid TOML may be nested too deeply, or have a number that is too long."""
    with pytest.raises(ConfigurationError, match=r"gateway\.toml: has a value that cannot be read"):
        parse_document(Path("gateway.toml"), f"port = {value}")


@pytest.mark.parametrize("text", ["a" + ".a" * 5000 + " = 1", "[a" + ".a" * 5000 + "]"])
def test_a_deep_key_has_its_line(text: str) -> None:
    assert parse_document(PATH, f"\n{text}").line(("a",) * 5001) == 2


def test_a_file_that_is_not_text_or_missing_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "openbridge.toml"
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_document(path)
    path.write_bytes(b'[server]\nhost = "\xff"\n')
    with pytest.raises(ConfigurationError, match=r"openbridge\.toml line 2: is not UTF-8"):
        read_document(path)


def test_a_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "openbridge.toml"
    path.write_bytes(b"\xef\xbb\xbf[server]\r\nport = 1\r\n")

    assert read_document(path).tables == {"server": {"port": 1}}
    assert read_document(path).line(("server", "port")) == 2


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("prot = 1", r"server\.prot is not a setting \(did you mean port\?\)"),
        ("tls = true", r"server\.tls is not a setting \(known: host, port\)"),
    ],
)
def test_an_unknown_key_is_refused_with_its_line_and_the_nearest_or_the_known_ones(
    line: str, hint: str
) -> None:
    document = parse_document(PATH, f"[server]\nhost = 'x'\n{line}\n")
    with pytest.raises(ConfigurationError, match=f"line 3: {hint}"):
        document.refuse_unknown(("server",), ("host", "port"))
    with pytest.raises(ConfigurationError, match=r"line 2: server\.host is not a table"):
        document.refuse_unknown(("server", "host"), ())


KEYS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1)


@given(st.dictionaries(KEYS, st.dictionaries(KEYS, st.integers(), max_size=3), max_size=4))
def test_every_key_of_any_document_is_on_the_line_where_it_is_written(
    tables: dict[str, dict[str, int]],
) -> None:
    lines: list[str] = []
    places: dict[tuple[str | int, ...], int] = {}
    for name, values in tables.items():
        lines.append(f"[{_quoted(name)}]")
        places[(name,)] = len(lines)
        for key, value in values.items():
            lines += ["", f"{_quoted(key)} = [", f"  {value},", "]"]
            places[name, key] = len(lines) - 2
    text = "\n".join(lines)

    document = parse_document(PATH, text)

    assert {keys: document.line(keys) for keys in places} == places


def _quoted(key: str) -> str:
    return '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (("server", "port"), "server.port"),
        (("models", "gpt-5.5"), 'models."gpt-5.5"'),
        (("upstreams", 0, "name"), "upstreams[1].name"),
    ],
)
def test_places_are_named_as_the_file_writes_them(keys: Any, text: str) -> None:
    assert dotted(keys) == text
