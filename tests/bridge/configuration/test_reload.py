"""Settings that change while `openbridge serve` runs: files, SIGHUP, and what is refused."""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import anyio
import anyio.to_thread
import httpx
import pytest
from attrs import evolve

from llmcore.bridge.configuration.settings import (
    AccountSettings,
    GatewaySettings,
    Limits,
    StateSettings,
)
from llmcore.bridge.http.logs import LOGGER
from llmcore.bridge.reload import with_fixed_settings
from llmcore.bridge.service import Service
from llmcore.schema.errors import ConfigurationError
from tests.support.servers.bridge_process import Gateway, gateway
from tests.support.servers.bridge_service import settings_for, streamed
from tests.support.servers.loopback import Answer, Received, chat_stream, serve
from tests.support.servers.pooled_gateway import says
from tests.support.waiting import until


def config(url: str, *, more: str = "", state: str = "memory") -> str:
    return (
        f'[state]\nbackend = "{state}"\n[routing]\nretries = 0\n'
        f'[[upstreams]]\nname = "a"\nprovider = "openai-compatible"\nbase_url = "{url}/v1"\n'
        f'key = "sk-very-secret"\n[models.m]\ntargets = ["a/up"]\n{more}'
    )


def replace(folder: Path, text: str) -> None:
    """Replace the file at once, as editors and orchestrators do."""
    new = folder / "openbridge.toml.new"
    new.write_text(text)
    os.replace(new, folder / "openbridge.toml")


def wait_for(running: Gateway, event: str, count: int = 1) -> dict[str, object]:
    """Return the log line of the *count*th *event*."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        found: list[dict[str, object]] = [one for one in running.lines if one["event"] == event]
        if len(found) >= count:
            return found[count - 1]
        time.sleep(0.02)
    raise AssertionError(f"no {event} in {running.lines}")


def text(running: Gateway, model: str = "m") -> str:
    answer = httpx.post(
        f"{running.url}/chat/completions",
        json={"model": model, "messages": [{"role": "user", "content": "Hi"}]},
        timeout=30,
    )
    if answer.status_code != 200:
        return str(answer.status_code)
    return str(answer.json()["choices"][0]["message"]["content"])


def validity(running: Gateway) -> str:
    """Return the gauge by which monitoring notices a refused change."""
    exposition = httpx.get(running.url.removesuffix("/v1") + "/metrics", timeout=30).text
    return exposition.partition("\nopenbridge_configuration_valid ")[2].partition("\n")[0]


def children(pid: int) -> set[int]:
    return set(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def hang_up(running: Gateway) -> None:
    running.process.send_signal(signal.SIGHUP)


@pytest.mark.slow
@pytest.mark.parametrize("ask", [None, hang_up], ids=["changed on disk", "SIGHUP"])
def test_a_change_is_used_by_the_next_request_and_not_by_a_running_response(
    tmp_path: Path, ask: Callable[[Gateway], None] | None
) -> None:
    """The stream that began at the old upstream comes from it to its end."""
    going_on = threading.Event()

    def slowly(_received: Received) -> Answer:
        def script() -> Iterator[bytes | float]:
            first, *rest = chat_stream(["old ", "to the end"])
            yield first
            going_on.wait(20)
            yield from rest

        return streamed(script())

    with serve(slowly) as old, serve(says("new")) as new:
        replace(tmp_path, config(old.url))
        with gateway(tmp_path) as running:
            body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
            url = f"{running.url}/chat/completions"
            with httpx.stream("POST", url, json=body, timeout=30) as stream:
                pieces = stream.iter_bytes()
                received = next(pieces)
                replace(tmp_path, config(new.url))
                if ask is not None:
                    ask(running)
                wait_for(running, "configuration_reloaded")
                assert text(running) == "new"
                going_on.set()
                received += b"".join(pieces)
    assert b"to the end" in received
    assert b"[DONE]" in received
    assert (len(old.received), len(new.received)) == (1, 1)


@pytest.mark.slow
def test_a_bad_file_is_refused_with_its_line_and_the_old_settings_stay(tmp_path: Path) -> None:
    with serve(says("old")) as upstream:
        replace(tmp_path, config(upstream.url))
        with gateway(tmp_path) as running:
            assert text(running) == "old"
            valid = [validity(running)]
            replace(tmp_path, config("http://127.0.0.1:1", more="[limits]\nidle_secs = 3\n"))
            refused = wait_for(running, "configuration_refused")
            valid.append(validity(running))
            assert text(running) == "old"
            (tmp_path / "openbridge.toml").unlink()
            missing = wait_for(running, "configuration_refused", 2)
            assert text(running) == "old"
            replace(tmp_path, config(upstream.url, more='aliases = ["n"]\n'))
            wait_for(running, "configuration_reloaded")
            valid.append(validity(running))
            assert text(running, "n") == "old"

    assert valid == ["1.0", "0.0", "1.0"]
    assert "openbridge.toml line 13: limits.idle_secs is not a setting" in str(refused["error"])
    assert "missing" in str(missing["error"])
    assert "sk-very-secret" not in str(running.lines)


@pytest.mark.slow
def test_what_needs_a_restart_is_reported_and_the_rest_is_used(tmp_path: Path) -> None:
    with serve(says("old")) as upstream:
        replace(tmp_path, config(upstream.url))
        with gateway(tmp_path) as running:
            more = '[models.extra]\ntargets = ["a/up"]\n[server]\nport = 1\n'
            replace(tmp_path, config(upstream.url, more=more, state="sqlite"))
            line = wait_for(running, "configuration_reloaded")
            assert text(running, "extra") == "old"

    assert line["needs_restart"] == ["state"], "an option gives the port"


@pytest.mark.slow
def test_a_change_of_other_settings_does_not_reset_the_rates_of_callers(tmp_path: Path) -> None:
    limit = "[limits]\nrate_limit_per_minute = 2\n"
    with serve(says("old")) as upstream:
        replace(tmp_path, config(upstream.url, more=limit))
        with gateway(tmp_path) as running:
            assert [text(running) for _ in range(3)] == ["old", "old", "429"]
            replace(tmp_path, config(upstream.url, more=f"{limit}idle_seconds = 9\n"))
            wait_for(running, "configuration_reloaded")
            assert text(running) == "429"

            raised = limit.replace("2", "3")
            replace(tmp_path, config(upstream.url, more=raised))
            wait_for(running, "configuration_reloaded", 2)
            assert text(running) == "old"


@pytest.mark.slow
def test_clients_that_are_removed_are_refused_at_once(tmp_path: Path) -> None:
    clients = '[[clients]]\nname = "ann"\nkey = "key-of-ann"\n'
    with serve(says("in")) as upstream:
        replace(tmp_path, config(upstream.url, more=clients))
        with gateway(tmp_path) as running:

            def status() -> int:
                headers = {"authorization": "Bearer key-of-ann"}
                return httpx.get(f"{running.url}/models", headers=headers).status_code

            assert status() == 200
            replace(tmp_path, config(upstream.url, more=clients.replace("of-ann", "of-bob")))
            wait_for(running, "configuration_reloaded")
            assert status() == 401


@pytest.mark.slow
def test_every_worker_applies_a_reloaded_configuration(tmp_path: Path) -> None:
    with serve(says("old")) as old, serve(says("new")) as new:
        replace(tmp_path, config(old.url, state="sqlite"))
        with gateway(tmp_path, OPENBRIDGE_WORKERS="2") as running:
            assert {text(running) for _ in range(8)} == {"old"}
            replace(tmp_path, config(new.url, state="sqlite"))
            hang_up(running)
            wait_for(running, "configuration_reloaded", 2)
            assert {text(running) for _ in range(8)} == {"new"}


@pytest.mark.slow
def test_a_worker_that_replaces_another_has_the_settings_of_now(tmp_path: Path) -> None:
    """Not those of the gateway's start."""
    with serve(says("old")) as old, serve(says("new")) as new:
        replace(tmp_path, config(old.url, state="sqlite"))
        with gateway(tmp_path, OPENBRIDGE_WORKERS="2") as running:
            replace(tmp_path, config(new.url, state="sqlite"))
            wait_for(running, "configuration_reloaded", 2)
            for worker in children(running.process.pid):
                os.kill(worker, signal.SIGKILL)
            wait_for(running, "worker_died", 2)
            wait_for(running, "Application startup complete.", 4)
            assert {text(running) for _ in range(8)} == {"new"}
    assert old.received == []


@pytest.fixture
def service(tmp_path: Path) -> Service:
    path = tmp_path / "openbridge.toml"
    path.write_text("[routing]\nretries = 1\n")
    settings = evolve(settings_for("http://127.0.0.1:1"), config_path=path, retries=1)

    def read() -> GatewaySettings:
        retries = int(path.read_text().rpartition("=")[2])
        return evolve(settings, retries=retries)

    return Service.from_settings(settings, read_again=read)


@pytest.mark.anyio
async def test_a_file_that_changes_while_its_settings_are_used_is_read_again(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reloader, reconfigure = service.reloader, service.reconfigure

    def slowly(settings: GatewaySettings) -> None:
        replace(tmp_path, f"retries = {settings.retries + 1}" if settings.retries < 4 else "")
        reconfigure(settings)

    monkeypatch.setattr(service, "reconfigure", slowly)
    assert reloader is not None
    replace(tmp_path, "retries = 2")
    found = []
    for _ in range(3):
        await reloader.check()
        found.append(service.settings.retries)

    assert found == [2, 3, 4]


@pytest.mark.anyio
async def test_of_two_reloads_the_later_one_counts(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file may change, and SIGHUP arrive, while another change is read."""
    reloader, begun, going_on = service.reloader, threading.Event(), threading.Event()
    assert reloader is not None
    read = reloader._read

    def slowly() -> GatewaySettings:
        settings = read()
        if not begun.is_set():
            begun.set()
            going_on.wait(20)
        return settings

    monkeypatch.setattr(reloader, "_read", slowly)
    async with anyio.create_task_group() as tasks:
        replace(tmp_path, "retries = 2")
        tasks.start_soon(reloader.check)
        await anyio.to_thread.run_sync(begun.wait, 20)
        replace(tmp_path, "retries = 3")
        tasks.start_soon(reloader.reload)
        await anyio.wait_all_tasks_blocked()
        going_on.set()

    assert service.settings.retries == 3


@pytest.mark.anyio
async def test_another_file_with_the_time_and_size_of_the_last_one_is_read(
    service: Service, tmp_path: Path
) -> None:
    """Packages and images give all files one time."""
    reloader, path = service.reloader, tmp_path / "openbridge.toml"
    assert reloader is not None
    before, new = path.stat(), tmp_path / "new"
    new.write_text("[routing]\nretries = 5\n")
    os.utime(new, ns=(before.st_mtime_ns, before.st_mtime_ns))
    new.replace(path)
    await reloader.check()

    assert service.settings.retries == 5


@pytest.mark.anyio
async def test_a_fault_in_reading_settings_changes_nothing_and_ends_nothing(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llmcore.bridge.service._MAINTENANCE_S", 0.01)
    kept = 0
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(service.maintain)
        replace(tmp_path, "retries = x")
        await until(lambda: b"configuration_valid 0" in service.metrics.exposition())
        kept = service.settings.retries
        replace(tmp_path, "retries = 2")
        await until(lambda: service.settings.retries == 2)
        tasks.cancel_scope.cancel()
    await service.aclose()

    assert kept == 1


@pytest.mark.anyio
async def test_a_fault_in_the_maintenance_does_not_end_it(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_upstreams: object) -> None:
        raise AssertionError

    monkeypatch.setattr("llmcore.bridge.service._MAINTENANCE_S", 0.01)
    monkeypatch.setattr(service.upstream_health, "measure", broken)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(service.maintain)
        replace(tmp_path, "retries = 2")
        await until(lambda: service.settings.retries == 2)
        replace(tmp_path, "retries = 3")
        await until(lambda: service.settings.retries == 3)
        tasks.cancel_scope.cancel()
    await service.aclose()


def test_which_settings_are_kept_until_a_restart() -> None:
    old = GatewaySettings()
    new = GatewaySettings(
        port=1,
        retries=9,
        state=StateSettings(backend="memory"),
        limits=Limits(max_body_bytes=1, idle_s=3.0),
        accounts=AccountSettings(spend_queue_rows=1, budget_usd=2.0),
    )

    found, needs_restart = with_fixed_settings(old, new)

    assert needs_restart == (
        "limits.max_body_bytes",
        "spend.queue_rows",
        "server.port",
        "state",
    )
    assert found == evolve(
        old, retries=9, limits=Limits(idle_s=3.0), accounts=AccountSettings(budget_usd=2.0)
    )
    assert with_fixed_settings(old, old) == (old, ())


@pytest.mark.parametrize(
    ("keys", "rate", "refused"), [((), 9, True), (("k",), 0, True), (("k",), 9, False)]
)
def test_an_address_that_is_kept_keeps_its_keys_and_rates(
    keys: tuple[str, ...], rate: int, refused: bool
) -> None:
    """The file may name a loopback address by now, which needs neither."""
    old = GatewaySettings(host="0.0.0.0", client_api_keys=("k",), limits=Limits(rate_per_minute=9))
    new = GatewaySettings(client_api_keys=keys, limits=Limits(rate_per_minute=rate))
    with pytest.raises(ConfigurationError, match="until a restart") if refused else nullcontext():
        assert with_fixed_settings(old, new)[1] == ("server.host",)


def test_another_log_level_is_used_at_once() -> None:
    """No restart is needed to see more, or less."""
    settings, before = settings_for("http://127.0.0.1:1"), LOGGER.level
    service = Service.from_settings(settings)
    try:
        service.reconfigure(evolve(settings, log_level="error"))
        assert LOGGER.level == logging.ERROR
    finally:
        LOGGER.setLevel(before)
