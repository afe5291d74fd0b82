"""The operations that manage issued keys, with the admin key, and `GET /key` for their holders.

    POST /admin/keys {"name": "ci", "models": ["gpt-5.5"], "budget_usd": 20}
    -> {"object": "key", "id": "5f0c2a91d4", ..., "key": "ob_5f0c2a91d4_kq3v..."}

The text of a key is in the responses of creating and rotating it, and nowhere else.
"""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import anyio.to_thread

from llmcore.bridge.accounts.charges import Accounts
from llmcore.bridge.accounts.issued_key import IssuedKey, KeyLimits, limits_from, period_end
from llmcore.bridge.accounts.issued_keys import KEYS_ARE_OFF, KeyRegistry, accounts_unavailable
from llmcore.bridge.accounts.meters import budget_meters, gateway_meters
from llmcore.bridge.api import Operation, OperationRequest
from llmcore.bridge.configuration.settings import AccountSettings, BudgetPeriod
from llmcore.bridge.spend.report import moment, spend_rows, usage_report
from llmcore.bridge.state.ledger import NANO, Ledger, Meter
from llmcore.bridge.state.store import StateUnavailableError
from llmcore.fronts.errors import FrontError, from_llm_error, invalid
from llmcore.schema.errors import LLMError, NotFoundError
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import nearest
from llmcore.schema.json import JsonObject, present

_T = TypeVar("_T")

_LONGEST_OVERLAP_S: Final = 10**9
_USAGE_QUERY: Final = ("by", "since", "until")
_LONGEST_COMPARED: Final = 80


def admin_operations(accounts: Accounts) -> list[Operation]:
    """Return the operations below `/admin`."""
    calls = _Admin(accounts)
    key_path = "/admin/keys/{key_id}"

    def operation(
        method: str, path: str, handle: Callable[[OperationRequest], Awaitable[JsonObject]]
    ) -> Operation:
        return Operation(
            name="admin",
            method=method,
            path=path,
            handle=handle,
            takes_body=method == "POST",
            for_admin=True,
        )

    return [
        operation("GET", "/admin/keys", calls.all),
        operation("POST", "/admin/keys", calls.create),
        operation("GET", key_path, calls.get),
        operation("POST", key_path, calls.update),
        operation("DELETE", key_path, calls.revoke),
        operation("POST", f"{key_path}/rotate", calls.rotate),
        operation("GET", "/admin/usage", calls.usage),
    ]


class _Admin:
    """The operations. Raises FrontError."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts
        self._ledger = accounts.ledger
        self._keys = KeyRegistry(accounts.ledger)

    async def all(self, _call: OperationRequest) -> JsonObject:
        def shown() -> list[JsonObject]:  # thousands of keys take a while
            return [key.shown() for key in self._keys.all()]

        return {"object": "list", "data": await _done(shown)}

    async def create(self, call: OperationRequest) -> JsonObject:
        key, text = await _done(lambda: self._keys.create(limits_from(call.body)))
        return self._shown_once(key, text)

    async def get(self, call: OperationRequest) -> JsonObject:
        key = await _done(partial(self._keys.get, call.path["key_id"]))
        return await _with_use(self._accounts, key)

    async def update(self, call: OperationRequest) -> JsonObject:
        key = await _done(partial(self._keys.update, call.path["key_id"], call.body))
        return key.shown()

    async def revoke(self, call: OperationRequest) -> JsonObject:
        return (await _done(partial(self._keys.revoke, call.path["key_id"]))).shown()

    async def rotate(self, call: OperationRequest) -> JsonObject:
        overlap: Any = call.body.get("overlap_seconds", 0)
        if type(overlap) not in (int, float) or not 0 <= overlap <= _LONGEST_OVERLAP_S:
            message = f"overlap_seconds must be a number from 0 to {_LONGEST_OVERLAP_S:,}"
            raise invalid(message, "overlap_seconds")
        step = partial(self._keys.rotate, call.path["key_id"], overlap_s=float(overlap))
        key, text = await _done(step)
        return self._shown_once(key, text)

    def _shown_once(self, key: IssuedKey, text: str) -> JsonObject:
        """Return *key* with its *text*, and a warning if clients cannot use it yet."""
        off = None if self._accounts.settings.issued_keys else KEYS_ARE_OFF
        return {**key.shown(), "key": text, **present({"warning": off})}

    async def usage(self, call: OperationRequest) -> JsonObject:
        query, now, settings = call.query, time.time(), self._accounts.settings
        for name in query.keys() - _USAGE_QUERY:
            hint = nearest(name[:_LONGEST_COMPARED], _USAGE_QUERY)
            known = hint or f"known: {', '.join(_USAGE_QUERY)}"
            raise invalid(f"usage takes no {name[:_LONGEST_COMPARED]!r} ({known})", name)
        zone = settings.time_zone
        by = [name for name in query.get("by", "key,model").split(",") if name]

        def report() -> list[JsonObject]:
            since = moment(query.get("since", "30d"), now, zone)
            until = moment(query["until"], now, zone) if "until" in query else now + 1.0
            return usage_report(spend_rows(self._ledger, since, until), by, zone)

        budget = await _done(partial(gateway_budget, self._ledger, settings))
        shown = None if budget is None else budget.shown()
        return {"object": "list", "data": await _done(report), "budget": shown}


def own_key(accounts: Accounts) -> Operation:
    """Return `GET /key`: the limits of the key that is sent, and what is used of its budgets.

    A key that was not issued has no limits of its own; its id is null.
    """

    async def get(call: OperationRequest) -> JsonObject:
        caller = call.caller
        if caller.key is None:
            return {"object": "key", "id": None, **KeyLimits(name=caller.name).shown(), "used": {}}
        return await _with_use(accounts, caller.key)

    return Operation(name="key", method="GET", path="/key", handle=get)


async def _with_use(accounts: Accounts, key: IssuedKey) -> JsonObject:
    """Return *key*, what is used and reserved of its budgets, and when their period ends."""
    now, zone = time.time(), accounts.settings.time_zone
    levels = await _done(partial(used, accounts.ledger, budget_meters(key, now, zone)))
    ends = period_end(key.limits.period, now, zone) if levels else None
    return {**key.shown(), "used": {**levels}, "resets_at": ends}


@frozen
class GatewayBudget:
    """The budget of all requests, or of a key, in US dollars (`usd`) and in `tokens`."""

    limits: Mapping[str, float]
    used: Mapping[str, float]
    """The amounts that are used or reserved now."""
    period: BudgetPeriod

    def shown(self) -> JsonObject:
        """Return the budget as JSON."""
        return {**self.limits, "period": self.period, "used": dict(self.used)}


def gateway_budget(ledger: Ledger, settings: AccountSettings) -> GatewayBudget | None:
    """Return the budget of all requests; None if there is none."""
    meters = gateway_meters(settings, time.time())
    limits = {"usd": settings.budget_usd, "tokens": settings.budget_tokens}
    if not meters:
        return None
    return GatewayBudget(present(limits), used(ledger, meters), settings.budget_period)


def used(ledger: Ledger, meters: Sequence[Meter]) -> dict[str, float]:
    """Return what is used and reserved of budgets, whose *meters* are those of a period."""
    levels = ledger.levels(meters) if meters else ()
    spent: dict[str, float] = {}
    for meter, level in zip(meters, levels, strict=True):
        unit = meter.name.split(":")[1]
        spent[unit] = level / NANO if unit == "usd" else int(level)
    return spent


async def _done(step: Callable[[], _T]) -> _T:
    """Return what *step* returns, from a thread; FrontError for its failures."""
    try:
        return await anyio.to_thread.run_sync(step)
    except StateUnavailableError as error:
        raise accounts_unavailable() from error
    except NotFoundError as error:
        raise FrontError(status=404, message=error.message, code="key_not_found") from error
    except LLMError as error:
        raise from_llm_error(error) from error
