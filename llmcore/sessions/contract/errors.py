"""The errors of the message and delta contract: one class per rule.

    ContractError
    ├── MalformedError             a missing, unknown or wrong field
    │   ├── ContractVersionError     another `contractVersion`
    │   └── UnknownKindError         a kind or role this version does not have
    ├── RolePartError              a part its role cannot hold
    ├── ToolResultCountError       a tool entry without exactly one tool_result
    ├── MixedRunError              another run's delta or entry
    ├── MissingStartError          a stream that does not begin with `start`
    ├── RepeatedStartError         a second `start`
    ├── SeqOrderError              a `seq` that does not rise
    ├── DeltaAfterEndError         anything after `done` or `error`
    ├── UnfinishedStreamError      neither `done` nor `error`
    ├── FailedResponseError          the stream ended with `error`: there is no message
    ├── DuplicateToolCallError     a `toolCallId` that was used before in the run
    ├── UnknownToolCallError       arguments or an end of a call that never began
    ├── ClosedToolCallError        arguments or an end of a call that has ended
    ├── OpenToolCallError          `done` inside a call
    ├── UntracedToolResultError    a tool_result for a call that is not in the run
    └── SecondToolResultError      a second tool_result for a call

Like all errors of the library they are values and exceptions at once.
"""

from attrs import define

from llmcore.schema.errors import LLMError


@define(auto_exc=False, eq=False, repr=False, kw_only=True)
class ContractError(LLMError):
    """Base class of the errors for broken rules."""

    run_id: str | None = None
    """The run, if known."""
    seq: int | None = None
    """The number of the delta, if the error concerns one."""
    tool_call_id: str | None = None
    """The id of the tool call, if the error concerns one."""


class MalformedError(ContractError):
    """The data is not an entry or a delta: a field is missing, unknown or of a wrong type."""


class ContractVersionError(MalformedError):
    """The data has an unsupported `contractVersion`."""


class UnknownKindError(MalformedError):
    """A kind of part or delta, or a role, that this version does not have."""


class RolePartError(ContractError):
    """An entry holds a part that its role, or its tool_result, cannot hold."""


class ToolResultCountError(ContractError):
    """A tool entry holds no tool_result, or several: each is an entry of its own."""


class MixedRunError(ContractError):
    """A delta or an entry belongs to another run than those before it."""


class MissingStartError(ContractError):
    """The first delta is not `start`."""


class RepeatedStartError(ContractError):
    """A stream has a second `start`."""


class SeqOrderError(ContractError):
    """A delta's `seq` is not greater than that of the one before it."""


class DeltaAfterEndError(ContractError):
    """A delta comes after `done` or `error`."""


class UnfinishedStreamError(ContractError):
    """The stream has neither `done` nor `error`: the message is incomplete."""


class FailedResponseError(ContractError):
    """The stream ended with `error`; `error_code`, `message` and `retryable` are its own."""


class DuplicateToolCallError(ContractError):
    """A `toolCallId` was used before in the run."""


class UnknownToolCallError(ContractError):
    """Arguments, or an end, of a tool call that has not begun."""


class ClosedToolCallError(ContractError):
    """Arguments, or an end, of a tool call that has ended."""


class OpenToolCallError(ContractError):
    """`done` comes before the end of a tool call."""


class UntracedToolResultError(ContractError):
    """A tool_result answers a call that is not before it in the run."""


class SecondToolResultError(ContractError):
    """A tool call has a tool_result already."""
