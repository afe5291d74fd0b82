"""The charge of each response: reserved before it, settled after it.

    charge = await accounts.open(caller, run, body)  # FrontError if a limit or budget forbids it
    ...                                              # the response, however it ends
    charge.close()                                   # never waits

The charge is closed before the end of its response is sent. From then on its row cannot be lost.

The reservation is the most that the response can use: a high estimate of the prompt, and the output
limit of the request or the model. Before another try, which can use as much again, it is raised by
what the earlier ones have used. Concurrent responses, on any number of workers and machines, can
therefore exceed a budget only by the amount by which their estimates were too low.
"""

import logging
import secrets
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import anyio
import anyio.to_thread

from llmcore.bridge.accounts.issued_key import KeyLimits
from llmcore.bridge.accounts.issued_keys import KeyLookup, accounts_unavailable
from llmcore.bridge.accounts.largest_use import Use, largest_use
from llmcore.bridge.accounts.meters import (
    amount_of,
    counts_money,
    counts_requests,
    meters_of,
    refusal,
    uses_of_meters,
    with_earlier,
)
from llmcore.bridge.accounts.prices import price_list
from llmcore.bridge.accounts.usage import use_of_try, uses_of
from llmcore.bridge.api import Caller
from llmcore.bridge.configuration.settings import GatewaySettings
from llmcore.bridge.http.logs import log
from llmcore.bridge.http.metrics import Metrics
from llmcore.bridge.model_map import UpstreamModel
from llmcore.bridge.response_run import CallRecord, SentResponse, outcome_of, request_id_of
from llmcore.bridge.spend.journal import SpendJournal
from llmcore.bridge.spend.row import LOST, SpendRow, packed_row
from llmcore.bridge.spend.running import RunningResponses
from llmcore.bridge.spend.writer import SpendEvents, SpendWriter
from llmcore.bridge.state.ledger import NANO, ExceededMeter, Increment, Ledger, Meter, Settlement
from llmcore.bridge.state.store import StateUnavailableError
from llmcore.bridge.state.stores import journal_for
from llmcore.schema.json import JsonObject
from llmcore.schema.response import LLMResponse
from llmcore.schema.token_estimate import estimated_content_tokens
from llmcore.schema.usage import Usage

_THREADS: Final = 32
_SETTLING_S: Final = 0.15
"""How long a refused reservation waits before its one retry, so that other workers can settle."""
_REFUSED_S: Final = 1.0
"""For how long reservations of the same meter then fail without waiting."""
_FLUSH_S: Final = 1.0
_CLOSE_S: Final = 10.0
_RECOVERED_S: Final = 5.0
"""The time between two searches for settlements of processes that were killed."""
_RECOVERED_AT_ONCE: Final = 200


class Accounts:
    """Counts the responses of one gateway process. Safe for concurrent use."""

    def __init__(self, settings: GatewaySettings, ledger: Ledger, metrics: Metrics) -> None:
        self.worker = secrets.token_hex(8)
        """Identifies the process in the ledger."""
        self.ledger = ledger
        self.configure(settings)
        account_settings = settings.accounts
        self._metrics = metrics
        self._threads = anyio.CapacityLimiter(_THREADS)
        self.lookup = KeyLookup(ledger, self._threads)
        self._refused: dict[str, float] = {}
        self._journal = journal_for(settings)
        self._recovered_at = -_RECOVERED_S
        self.running: RunningResponses[Charge] = RunningResponses(self._journal, self._used_so_far)
        """The responses that are not charged yet."""
        events = SpendEvents(
            dropped=metrics.spend_dropped.inc,
            waiting=metrics.spend_waiting.set,
            failed=metrics.state_errors.inc,
        )
        self._writer = SpendWriter(
            ledger,
            self.worker,
            events,
            journal=self._journal,
            max_rows=account_settings.spend_queue_rows,
            keep_s=account_settings.spend_kept_s,
        )

    def cost_of(self, target: UpstreamModel, response: LLMResponse) -> float | None:
        """Return the cost of *response*, which *target* gave, in US dollars; None if unknown."""
        cost = self._prices.cost(target, response, response.usage, time.time())
        return None if cost is None else cost / NANO

    def configure(self, settings: GatewaySettings) -> None:
        """Apply *settings* to the responses that begin from now on.

        Raises ConfigurationError, and changes nothing, if the prices cannot be read.
        """
        account_settings = settings.accounts
        self._prices = price_list(settings)
        self.settings = account_settings
        """Those of the responses that begin now."""
        rate = settings.limits.rate_per_minute if settings.shares_state else 0
        self._shared_rate = rate or None

    async def open(self, caller: Caller, run: SentResponse, body: JsonObject) -> "Charge":
        """Reserve the most that *run*, of a request with *body*, can use; return its charge.

        Raises FrontError, and closes *run*: 429 if a rate or a budget does not allow it, 403 for a
        model without a known price if there is a budget in dollars, 503 if the ledger cannot be
        reached.
        """
        limits = caller.key.limits if caller.key is not None else None
        charge = Charge(self, caller, run, body)
        if self._is_limited(limits):
            try:
                await self._in_thread(partial(self._reserve, charge))
            except BaseException:
                with anyio.CancelScope(shield=True):
                    await run.aclose()
                raise
            if not all(counts_requests(increment.meter) for increment in charge.increments):
                for call in run.calls:
                    call.allow = partial(self._allow_try, charge)
        self.running.begin(charge)
        return charge

    async def _allow_try(self, charge: "Charge", call: CallRecord, response: LLMResponse) -> None:
        """Raise the reservation for a try after the one by which *call* got *response*.

        Raises FrontError, and leaves the reservation as it is: 429 if a rate or a budget does not
        allow the try, 503 if the ledger cannot be reached.
        """
        await self._in_thread(partial(self._raise_reservation, charge, call, response))

    async def _in_thread(self, step: Callable[[], None]) -> None:
        try:
            await anyio.to_thread.run_sync(step, limiter=self._threads)
        except StateUnavailableError as error:
            self._metrics.state_errors.inc()
            log(logging.ERROR, "state_unavailable", error=str(error))
            raise accounts_unavailable() from error

    def hold_lease(self) -> None:
        """Keep the reservations of this worker from expiring; blocks. StateUnavailableError."""
        self._writer.hold_lease()

    async def check(self) -> None:
        """Raise StateUnavailableError if requests need the ledger and it cannot be reached."""
        settings = self.settings
        if settings.issued_keys or self._is_limited(None):
            await anyio.to_thread.run_sync(self.ledger.check, limiter=self._threads)

    async def recover(self) -> None:
        """Settle the responses of killed processes that used the same ledger."""
        if self._journal is None or time.monotonic() - self._recovered_at < _RECOVERED_S:
            return
        try:
            await anyio.to_thread.run_sync(self._recover, self._journal, limiter=self._threads)
        except (StateUnavailableError, OSError) as error:
            self._metrics.state_errors.inc()
            log(logging.WARNING, "spend_not_recovered", error=str(error))
        self._recovered_at = time.monotonic()

    def _recover(self, journal: SpendJournal) -> None:
        for orphan in journal.orphans():
            settlements = orphan.settlements
            try:
                for start in range(0, len(settlements), _RECOVERED_AT_ONCE):
                    self.ledger.settle(settlements[start : start + _RECOVERED_AT_ONCE])
            except BaseException:
                orphan.leave()
                raise
            orphan.settled()
            log(logging.INFO, "spend_recovered", rows=len(settlements))

    async def aclose(self) -> None:
        """Write what is queued, and close the ledger."""
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._writer.close, _CLOSE_S)
            await anyio.to_thread.run_sync(self.ledger.close)

    # -- before the response

    def _is_limited(self, limits: KeyLimits | None) -> bool:
        settings = self.settings
        if settings.budget_usd or settings.budget_tokens or self._shared_rate:
            return True
        return limits is not None and any(
            (
                limits.requests_per_minute,
                limits.tokens_per_minute,
                limits.budget_usd,
                limits.budget_tokens,
            )
        )

    def _reserve(self, charge: "Charge") -> None:
        meters = meters_of(charge.caller, self.settings, self._shared_rate)
        most = self._largest_use(charge, meters)
        increments = [Increment(meter, amount_of(meter, most)) for meter in meters]
        self._writer.hold_lease()
        try:
            self._try(charge, increments)
        except StateUnavailableError as error:
            if error.sent:
                self._writer.release(charge.id, increments)
            raise

    def _raise_reservation(self, charge: "Charge", call: CallRecord, response: LLMResponse) -> None:
        use = use_of_try(call, response, time.monotonic() - charge.begun, self._prices)
        if use is None:
            return
        cost = self._prices.cost(use.target, response, use.usage, time.time())
        used = Use(use.usage.input_tokens or 0, use.usage.output_tokens or 0, cost)
        charge.earlier.append(used)
        charge.added_input += estimated_content_tokens(response.message.content)
        meters = [increment.meter for increment in charge.increments]
        most = self._largest_use(charge, meters)
        self._try(charge, [with_earlier(meter, most, charge.earlier) for meter in meters])

    def _try(self, charge: "Charge", increments: Sequence[Increment]) -> None:
        """Reserve *increments* in place of those of *charge*; FrontError if one does not fit."""
        excess = self._excess(partial(self.ledger.reserve, charge.id, self.worker, increments))
        if excess is not None:
            raise refusal(excess)
        charge.increments = increments

    def _excess(self, reserve: Callable[[], ExceededMeter | None]) -> ExceededMeter | None:
        """Reserve; if a budget is too small, try again after ended responses were settled."""
        excess = reserve()
        if excess is None or excess.meter.drains_per_s or excess.amount > excess.meter.limit:
            return excess
        name, now = excess.meter.name, time.monotonic()
        if now - self._refused.get(name, -_REFUSED_S) < _REFUSED_S:
            return excess
        self._writer.flush(_FLUSH_S)
        time.sleep(_SETTLING_S)
        if (excess := reserve()) is not None:
            if len(self._refused) > _THREADS:
                self._refused.clear()
            self._refused[name] = time.monotonic()
        return excess

    def _largest_use(self, charge: "Charge", meters: Sequence[Meter]) -> Use:
        if all(map(counts_requests, meters)):
            return Use(0, 0, 0)
        return largest_use(
            charge.run,
            charge.body,
            self._prices,
            in_money=any(map(counts_money, meters)),
            added_input=charge.added_input,
        )

    # -- after the response

    def close(self, charge: "Charge") -> None:
        """Queue what the response of *charge* used; called once, at its end."""
        self.running.end(charge)
        row = charge.row = self._row(charge, outcome_of(charge.run.calls))
        self._metrics.count_spend(row)
        if (settlement := self._settlement(charge, row)) is None:
            return
        self._writer.add(settlement, must_keep=bool(charge.increments))

    def _used_so_far(self, charge: "Charge") -> Settlement | None:
        """Return how *charge* is settled if the process is killed: as if its client left now."""
        row = self._row(charge, LOST)
        return self._settlement(charge, row) if row.input_tokens or row.output_tokens else None

    def _settlement(self, charge: "Charge", row: SpendRow) -> Settlement | None:
        """Return what *row* settles; None if it is not to be stored."""
        if not charge.increments and not self.settings.records_spend:
            return None
        return Settlement(
            id=charge.id,
            worker=self.worker,
            at=row.at,
            uses=uses_of_meters(charge.increments, row),
            row=packed_row(row),
        )

    def _row(self, charge: "Charge", outcome: str) -> SpendRow:
        run, caller, now = charge.run, charge.caller, time.time()
        info, seconds = run.info, time.monotonic() - charge.begun
        uses = tuple(uses_of(run, seconds, self._prices))
        costs = [self._prices.cost(use.target, use.response, use.usage, now) for use in uses]
        known = [cost for cost in costs if cost is not None]
        count = sum(use.usage for use in uses) or Usage()
        error = run.error
        return SpendRow(
            id=charge.id,
            at=now,
            key=caller.label,
            owner="" if caller.key is None else caller.key.limits.owner,
            model=info.model,
            provider=info.provider,
            upstream=info.upstream.provider,
            target=info.upstream.model,
            outcome=outcome,
            error=None if error is None else error.error_code or type(error).__name__,
            streamed=info.streamed,
            input_tokens=count.input_tokens or 0,
            output_tokens=count.output_tokens or 0,
            cache_read_tokens=count.cache_read_tokens or 0,
            cache_write_tokens=count.cache_write_tokens or 0,
            reasoning_tokens=count.reasoning_tokens or 0,
            estimated=count.estimated,
            cost_nano=sum(known) if len(known) == len(costs) else None,
            first_event_s=run.calls[0].first_event_s,
            seconds=round(seconds, 4),
            upstream_request_id=request_id_of(run.calls),
        )


class Charge:
    """The account of one response."""

    def __init__(
        self, accounts: Accounts, caller: Caller, run: SentResponse, body: JsonObject
    ) -> None:
        self.id = run.info.id
        self.caller = caller
        self.run = run
        self.body = body
        """Of the client's request."""
        self.increments: Sequence[Increment] = ()
        """The reservation: an amount of each meter."""
        self.earlier: list[Use] = []
        """The use of each try that another one followed."""
        self.added_input = 0
        """Tokens that the gateway has added to the request: parts of a turn that was paused."""
        self.begun = time.monotonic()
        self.row: SpendRow | None = None
        """The row of spend, once the charge is closed."""
        self._accounts = accounts
        self._closed = False

    def close(self) -> None:
        """Settle what the response used: nothing if none began. Never waits. Idempotent."""
        if not self._closed:
            self._closed = True
            for call in (*self.run.failed_calls, *self.run.calls):
                call.allow = None  # the call would be a part of a cycle
            self._accounts.close(self)
