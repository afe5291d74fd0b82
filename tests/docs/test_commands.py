"""The command lines that the documentation shows are ones that the programs accept."""

import re
import shlex
from collections.abc import Iterator

import pytest

from llmcore.cli import commands, openbridge
from tests.docs.test_pages import PAGES

_PROGRAMS = {
    "llmcore": commands.COMMANDS,
    "openbridge": openbridge.COMMANDS,
}
_FENCED = re.compile(r"^```(?:console|sh|bash)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`((?:llmcore|openbridge) [a-z][^`A-Z]* -[^`A-Z]*)`")  # with an option


def command_lines(text: str) -> Iterator[list[str]]:
    """Yield the words of each call of our programs in the console blocks and code of *text*."""
    for block in _FENCED.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            yield from _calls(line.removeprefix("$ "))
    for code in _INLINE.findall(text):
        yield from _calls(code)


def _calls(line: str) -> Iterator[list[str]]:
    words = shlex.split(line, comments=True)
    while words:
        end = next((n for n, word in enumerate(words) if word in ("|", "&&", ";")), len(words))
        call = list(_without_redirection(words[:end]))
        if call and call[0] in _PROGRAMS:
            yield call
        words = words[end + 1 :]


def _without_redirection(words: list[str]) -> Iterator[str]:
    """Yield *words* without variables before the program and files after `>`."""
    started = skipping = False
    for word in words:
        started = started or "=" not in word
        if word in (">", "<", "2>"):
            skipping = True
        elif skipping:
            skipping = False
        elif started:
            yield word


SHOWN = {
    shlex.join(words): (page.name, words)
    for page in PAGES
    for words in command_lines(page.read_text())
    if len(words) > 1
}


@pytest.mark.parametrize("shown", SHOWN)
def test_a_command_line_in_the_docs_is_one_that_its_program_accepts(
    shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    page, (program, *words) = SHOWN[shown]
    parser = commands.parser_of(commands.Program(program, "", _PROGRAMS[program]), words)

    try:
        parser.parse_args(words)
    except SystemExit:
        pytest.fail(f"{page}: {shown}\n{capsys.readouterr().err}")


def test_command_lines_are_found_in_blocks_and_in_text() -> None:
    text = """
```console
$ export A=b
$ A=b git diff | llmcore ask "Hi, there" \\
    -m x:y > out.txt && openbridge serve  # comment
```
Or `llmcore chat --local`, or `llmcore inspect FILE`.
"""
    assert list(command_lines(text)) == [
        ["llmcore", "ask", "Hi, there", "-m", "x:y"],
        ["openbridge", "serve"],
        ["llmcore", "chat", "--local"],
    ]
