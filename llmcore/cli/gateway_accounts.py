"""`openbridge keys` and `openbridge usage`: the keys that a gateway issues, and what they spent.

They open the gateway's store themselves, so that they work while it runs and while it does not.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, tzinfo
from typing import Final, TypeAlias

from llmcore.bridge.accounts.admin import GatewayBudget, gateway_budget, used
from llmcore.bridge.accounts.issued_key import IssuedKey, limits_from
from llmcore.bridge.accounts.issued_keys import KEYS_ARE_OFF, KeyRegistry
from llmcore.bridge.accounts.meters import budget_meters
from llmcore.bridge.configuration.settings import AccountSettings, BudgetPeriod
from llmcore.bridge.spend.report import aligned, as_csv, as_table, moment, spend_rows, usage_report
from llmcore.bridge.state.ledger import Ledger
from llmcore.bridge.state.store import StateUnavailableError
from llmcore.bridge.state.stores import ledger_for
from llmcore.cli.failures import UsageError
from llmcore.cli.gateway_config import settings_of_store
from llmcore.cli.program import json_output, note, print_json, say, terminal_width
from llmcore.schema.errors import ConfigurationError, InvalidRequestError, NotFoundError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, present


@frozen
class _Store:
    """The store of accounts, and the time zone of its periods."""

    ledger: Ledger
    settings: AccountSettings

    @property
    def zone(self) -> tzinfo:
        return self.settings.time_zone

    @property
    def keys(self) -> KeyRegistry:
        return KeyRegistry(self.ledger)


_Action: TypeAlias = Callable[[_Store, argparse.Namespace], None]

_UNITS: Final = {"h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}


def run(args: argparse.Namespace) -> int:
    """Run the action of *args* on the store of the gateway."""
    settings = settings_of_store(args)
    if settings.state.backend == "memory":
        raise ConfigurationError(
            f"the state of this gateway is in its memory ({settings.place_of('STATE_BACKEND')}): "
            "no other program can read it"
        )
    ledger = ledger_for(settings)
    try:
        _ACTIONS[args.action](_Store(ledger, settings.accounts), args)
    except StateUnavailableError as error:
        raise ConfigurationError(str(error), cause=error) from error
    except NotFoundError as error:
        message = f"{error.message}: `openbridge keys list` shows their ids"
        raise NotFoundError(message, cause=error) from error
    except InvalidRequestError as error:  # all of the request is in the options
        raise UsageError(error.message, cause=error) from error
    finally:
        ledger.close()
    return 0


def _limits(args: argparse.Namespace, zone: tzinfo) -> JsonObject:
    names = (
        "name",
        "owner",
        "requests_per_minute",
        "tokens_per_minute",
        "budget_usd",
        "budget_tokens",
        "period",
    )
    given = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    if args.models is not None:
        given["models"] = [name.strip() for name in args.models.split(",") if name.strip()]
        if not given["models"]:
            raise UsageError("--models names no model; a key without --models may use all of them")
    if args.expires is not None:
        given["expires_at"] = _later(args.expires, zone)
    return given


def _later(text: str, zone: tzinfo) -> float:
    """Return the time of *text*: a duration from now, such as `30d`, or a date to come."""
    now = time.time()
    if text[-1:] in _UNITS:
        expiry = now + _seconds(text)
    else:
        try:
            expiry = moment(text, now, zone)
        except InvalidRequestError as error:
            message = f"{text!r} is neither a date, such as 2030-01-31, nor a time such as 30d"
            raise UsageError(message, cause=error) from error
    if expiry <= now:
        raise UsageError(f"{text!r} is not in the future; `keys revoke` ends a key now")
    return expiry


def _seconds(text: str) -> float:
    number, unit = text[:-1], text[-1:]
    if unit not in _UNITS or not number.isdecimal():
        raise UsageError(f"{text!r} is not a time such as 12h, 30d or 4w")
    return int(number) * _UNITS[unit]


# -- keys


def _create(store: _Store, args: argparse.Namespace) -> None:
    key, text = store.keys.create(limits_from(_limits(args, store.zone)))
    _print_new(key, text, args)
    _warn_if_off(store)


def _rotate(store: _Store, args: argparse.Namespace) -> None:
    overlap_s = _seconds(args.overlap)
    key, text = store.keys.rotate(args.id, overlap_s=overlap_s)
    _print_new(key, text, args)
    if not args.json:
        until = _readable("expires_at", time.time() + overlap_s)
        note(f"The old text is {f'valid until {until}' if overlap_s else 'no longer valid'}.")
    _warn_if_off(store)


def _warn_if_off(store: _Store) -> None:
    if not store.settings.issued_keys:
        note(KEYS_ARE_OFF)


def _print_new(key: IssuedKey, text: str, args: argparse.Namespace) -> None:
    if args.json:
        print_json({**key.shown(), "key": text}, indent=2)
        return
    say(text)
    note(f"The key {key.id}. It is not shown again.")


def _list(store: _Store, args: argparse.Namespace) -> None:
    keys = store.keys.all()
    if args.json:
        print_json([key.shown() for key in keys], indent=2)
        return
    if not keys:
        note("there are no keys: `openbridge keys create` makes one")
        return
    rows = [
        (
            key.id,
            _state(key),
            key.limits.name,
            key.limits.owner,
            _readable("expires_at", key.limits.expires_at or "").partition("T")[0],
            ", ".join(key.limits.models),
            _summary(key),
        )
        for key in keys
    ]
    say("\n".join(aligned([_COLUMNS, *rows])))


_COLUMNS: Final = ("id", "state", "name", "owner", "expires", "models", "limits")


def _show(store: _Store, args: argparse.Namespace) -> None:
    key = store.keys.get(args.id)
    meters = budget_meters(key, time.time(), store.zone)
    amounts = used(store.ledger, meters)
    shown = {**key.shown(), "state": _state(key), "used": amounts}
    if args.json:
        print_json(shown, indent=2)
        return
    left_out = {"object", "used"} if amounts else {"object", "used", "period"}
    for name, value in shown.items():
        if name not in left_out and value not in (None, "", []):
            say(f"{name}: {_readable(name, value)}")
    limits = {"usd": key.limits.budget_usd, "tokens": key.limits.budget_tokens}
    for text in _used(GatewayBudget(present(limits), amounts, key.limits.period)):
        say(f"used: {text}")


def _update(store: _Store, args: argparse.Namespace) -> None:
    removed = {
        "expires_at" if name == "expires" else name.replace("-", "_") for name in args.remove
    }
    changes = {**_limits(args, store.zone), **dict.fromkeys(removed)}
    if not changes:
        raise UsageError("name what is to change, such as --budget-usd 20")
    store.keys.update(args.id, changes)
    _show(store, args)


def _revoke(store: _Store, args: argparse.Namespace) -> None:
    key = store.keys.revoke(args.id)
    if args.json:
        print_json(key.shown(), indent=2)
    else:
        say(f"{key.id} is revoked")


def _state(key: IssuedKey) -> str:
    if key.revoked_at is not None:
        return "revoked"
    expires = key.limits.expires_at
    return "expired" if expires is not None and expires <= time.time() else "valid"


def _summary(key: IssuedKey) -> str:
    limits = key.limits
    parts = [
        f"${limits.budget_usd:g} a {limits.period}" if limits.budget_usd else "",
        f"{limits.budget_tokens:,} tokens a {limits.period}" if limits.budget_tokens else "",
        f"{limits.requests_per_minute:,} requests a minute" if limits.requests_per_minute else "",
        f"{limits.tokens_per_minute:,} tokens a minute" if limits.tokens_per_minute else "",
    ]
    return ", ".join(part for part in parts if part)


def _readable(name: str, value: object) -> str:
    if name.endswith("_at") and isinstance(value, int | float):
        return datetime.fromtimestamp(value, UTC).isoformat(timespec="seconds")
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)


_WHEN: Final[Mapping[BudgetPeriod, str]] = {
    "day": "today",
    "week": "this week",
    "month": "this month",
    "total": "in total",
}


def _used(budget: GatewayBudget) -> Iterator[str]:
    """Yield what is used of each limit of *budget*, for people."""
    for unit, amount in budget.used.items():
        limit = budget.limits[unit]
        share = (
            f"${amount:,.2f} of ${limit:,.2f}"
            if unit == "usd"
            else f"{amount:,} of {limit:,} tokens"
        )
        yield f"{share} used or reserved {_WHEN[budget.period]}"


# -- usage


def _usage(store: _Store, args: argparse.Namespace) -> None:
    now = time.time()
    by = [name for name in args.by.split(",") if name]
    since = moment(args.since, now, store.zone)
    until = now + 1.0 if args.until is None else moment(args.until, now, store.zone)
    report = usage_report(spend_rows(store.ledger, since, until), by, store.zone)
    match args.format:
        case "json":
            print_json(report, indent=2)
        case "csv":
            print(as_csv(report), end="", file=json_output())
        case _:
            say(as_table(report, by, terminal_width()))
            _note_budget(gateway_budget(store.ledger, store.settings))


def _note_budget(budget: GatewayBudget | None) -> None:
    """State on stderr what is used of the budget of all requests."""
    for text in () if budget is None else _used(budget):
        note(f"all requests: {text}")


_ACTIONS: Final[Mapping[str, _Action]] = {
    "create": _create,
    "list": _list,
    "show": _show,
    "update": _update,
    "revoke": _revoke,
    "rotate": _rotate,
    "usage": _usage,
}
