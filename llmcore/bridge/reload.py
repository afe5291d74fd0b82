"""Settings that are read again while the gateway runs.

A change of a file, or SIGHUP, makes every worker read everything again. Valid settings
apply to requests that begin from then on; responses under way keep the settings that they began
with. If any setting is invalid, all are refused and the log names the line.
"""

import logging
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import anyio
import anyio.to_thread
from attrs import evolve

from llmcore.bridge.configuration.reading import env_file
from llmcore.bridge.configuration.settings import GatewaySettings
from llmcore.bridge.http.logs import LOGGER, log
from llmcore.schema.errors import ConfigurationError

if TYPE_CHECKING:
    from llmcore.bridge.service import Service

ReadSettings: TypeAlias = Callable[[], GatewaySettings]
"""Reads all settings again. Raises ConfigurationError."""
Stamps: TypeAlias = Mapping[Path, tuple[int, int, int] | None]
"""The time, the size and the inode of each file that settings are read from."""

_FIXED: Final = {
    "host": "server.host",
    "port": "server.port",
    "workers": "server.workers",
    "state": "state",
    "seal_key": "server.seal_key",
    "telemetry": "server.telemetry",
    "ui": "server.ui",
    "ui_record": "server.ui_record",
}
_FIXED_LIMITS: Final = {
    "max_body_bytes": "limits.max_body_bytes",
    "max_header_bytes": "limits.max_header_bytes",
    "body_s": "limits.body_seconds",
    "shutdown_s": "server.shutdown_seconds",
    "max_background": "limits.max_background",
}
_FIXED_ACCOUNTS: Final = {"spend_kept_s": "spend.keep_days", "spend_queue_rows": "spend.queue_rows"}
"""Settings that a running gateway cannot change, and their names in the file."""


def with_fixed_settings(
    old: GatewaySettings, new: GatewaySettings
) -> tuple[GatewaySettings, tuple[str, ...]]:
    """Return *new* with the fixed settings of *old*, and the names of those that differ.

    The names are those of the configuration file. Raises ConfigurationError if the address that is
    kept can be reached from other machines, and *new* has no key or no rate limit, as a loopback
    address may.
    """
    differing: list[str] = []

    def kept(fixed: Mapping[str, str], before: object, after: object) -> dict[str, Any]:
        values = {name: getattr(before, name) for name in fixed}
        differing.extend(fixed[n] for n, v in values.items() if v != getattr(after, n))
        return values

    settings = evolve(
        new,
        limits=evolve(new.limits, **kept(_FIXED_LIMITS, old.limits, new.limits)),
        accounts=evolve(new.accounts, **kept(_FIXED_ACCOUNTS, old.accounts, new.accounts)),
        **kept(_FIXED, old, new),
    )
    if settings.is_public and not (settings.needs_key and settings.limits.rate_per_minute):
        raise ConfigurationError(
            f"until a restart, the gateway listens on {settings.host}, which other machines can "
            "reach: keep a client key and a rate limit until then"
        )
    return settings, tuple(differing)


class Reloader:
    """Reconfigures a service whenever its files change, or a signal arrives."""

    def __init__(self, service: "Service", read: ReadSettings, stamps: Stamps) -> None:
        """*stamps* are those of the files that the service's settings were read from."""
        self._service = service
        self._read = read
        self._seen = stamps
        self._reloading = anyio.Lock()

    async def check(self) -> None:
        """Reload if a file has changed since the last time."""
        seen = await anyio.to_thread.run_sync(stamps_of, self._service.settings)
        if seen != self._seen:
            await self.reload()

    async def reload(self) -> bool:
        """Read the settings and use them; return whether they were valid."""
        async with self._reloading:  # or settings that were read before others could replace them
            return await self._reload()

    async def _reload(self) -> bool:
        service = self._service
        self._seen = before = await anyio.to_thread.run_sync(stamps_of, service.settings)
        try:
            read_now = await anyio.to_thread.run_sync(self._read)
            if service.settings.config_path is not None and read_now.config_path is None:
                message = f"{service.settings.config_path} is missing"
                raise ConfigurationError(message)  # noqa: TRY301  (logged as any other)
            settings, fixed = with_fixed_settings(service.settings, read_now)
            service.reconfigure(settings)
        except Exception as error:  # noqa: BLE001  a fault of the gateway; it serves as before
            service.metrics.configuration_valid.set(0)
            if isinstance(error, ConfigurationError):
                log(logging.ERROR, "configuration_refused", error=str(error))
            else:
                LOGGER.exception("configuration_refused")
            return False
        # A file that changed since it was read is read again.
        self._seen = {path: before.get(path, now) for path, now in stamps_of(settings).items()}
        service.metrics.configuration_valid.set(1)
        log(logging.INFO, "configuration_reloaded", needs_restart=list(fixed) or None)
        return True

    async def reload_on_signals(self) -> None:
        """Reload on every SIGHUP, until cancelled.

        In a terminal the signal means that the window was closed, and ends the gateway as before.
        """
        in_terminal = sys.stdin is not None and sys.stdin.isatty()
        is_main = threading.current_thread() is threading.main_thread()
        if sys.platform == "win32" or in_terminal or not is_main:
            return
        with anyio.open_signal_receiver(signal.SIGHUP) as received:
            async for _ in received:
                await self.reload()


def stamps_of(settings: GatewaySettings) -> Stamps:
    """Return the stamps of the files that *settings* are read from; None for a missing one."""
    paths = (
        settings.config_path,
        env_file(settings.environ, Path()),
        settings.model_map_path,
        settings.tools_path,
        settings.accounts.prices_path,
    )
    return {path: _stamp(path) for path in paths if path is not None}


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
