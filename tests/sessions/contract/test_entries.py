"""Entries: what each role can hold, each rule with its error."""

import pickle

import pytest

from llmcore.schema.errors import LLMError, error_types
from llmcore.sessions.contract.entries import (
    PARTS_OF_ROLE,
    EntryFileRef,
    EntryImage,
    EntryPart,
    EntryRole,
    EntryText,
    EntryThinking,
    EntryToolCall,
    EntryToolResult,
)
from llmcore.sessions.contract.errors import (
    ContractError,
    MalformedError,
    RolePartError,
    ToolResultCountError,
    UnknownKindError,
)
from tests.support.strategies.contract import entry

ONE_OF_EACH: tuple[EntryPart, ...] = (
    EntryText("Hi"),
    EntryThinking("Hm"),
    EntryToolCall("c", "look", {}),
    EntryToolResult("c", "done"),
    EntryImage(mime_type="image/png", data="AAAA"),
    EntryFileRef("notes.txt"),
)

ALLOWED: dict[EntryRole, set[str]] = {
    "system": {"text", "thinking"},
    "user": {"text", "image", "file_ref"},
    "assistant": {"text", "thinking", "tool_call"},
    "tool": {"tool_result"},
}


@pytest.mark.parametrize("part", ONE_OF_EACH, ids=lambda part: part.kind)
@pytest.mark.parametrize("role", ALLOWED)
def test_a_part_that_a_role_cannot_hold_is_an_error(role: EntryRole, part: EntryPart) -> None:
    """The contract's table, cell by cell."""
    if part.kind in ALLOWED[role]:
        assert entry(role, part).parts == (part,)
        return
    with pytest.raises(RolePartError, match=part.kind) as told:
        entry(role, part)
    assert told.value.run_id == "run-1"


def test_every_role_and_part_is_in_the_table() -> None:
    """Roles and kinds are those of the contract, and no others."""
    assert {part.kind for part in ONE_OF_EACH} == set().union(*ALLOWED.values())
    assert {role: {kind.kind for kind in kinds} for role, kinds in PARTS_OF_ROLE.items()} == ALLOWED


@pytest.mark.parametrize("results", [0, 2, 3])
def test_a_tool_entry_holds_exactly_one_result(results: int) -> None:
    """Each result is an entry of its own."""
    with pytest.raises(ToolResultCountError, match=str(results)):
        entry("tool", *[EntryToolResult(str(n), "x") for n in range(results)])


def test_a_role_outside_the_contract_is_an_unknown_kind() -> None:
    """`developer` is not a role of the contract."""
    with pytest.raises(UnknownKindError, match="developer"):
        entry("developer", EntryText("Hi"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "sources", [{}, {"data": "AAAA", "url": "https://x"}, {"url": "/etc/passwd"}, {"url": "~/x"}]
)
def test_an_image_needs_one_source_and_no_local_path(sources: dict[str, str]) -> None:
    """Entries of others must not make the library read a local file as an image."""
    with pytest.raises(MalformedError):
        EntryImage(mime_type="image/png", **sources)


def test_a_tool_result_cannot_hold_a_call() -> None:
    """Calls stand in the assistant's entries, where the run's rules see them."""
    with pytest.raises(RolePartError, match="tool_call"):
        EntryToolResult("c", (EntryToolCall("d", "look", {}),))


def test_properties_of_an_entry_read_its_parts() -> None:
    """Text is joined; calls and the result are found."""
    call = EntryToolCall("c", "look", {"a": 1})
    said = entry("assistant", EntryText("a"), call, EntryText("b"))

    assert (said.text, said.tool_calls, said.tool_result) == ("ab", (call,), None)
    assert entry("tool", EntryToolResult("c", "x")).tool_result == EntryToolResult("c", "x")


def test_the_repr_of_an_image_leaves_out_its_data() -> None:
    """A repr says how much there is."""
    assert "AAAA" not in repr(EntryImage(mime_type="image/png", data="AAAA"))


def test_contract_errors_are_errors_of_the_library() -> None:
    """They are caught as LLMError, pickle, and keep where they happened."""
    error = RolePartError("no", run_id="r", seq=3, tool_call_id="c")

    assert isinstance(error, ContractError)
    assert isinstance(error, LLMError)
    assert pickle.loads(pickle.dumps(error)) == error
    assert error_types()["RolePartError"] is RolePartError
    assert not error.retryable
