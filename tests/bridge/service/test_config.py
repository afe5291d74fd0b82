"""Settings from the environment and from a `.env` file."""

from pathlib import Path

import pytest

from llmcore.bridge.configuration import reading as config
from llmcore.bridge.configuration.reading import read_environment, settings_from
from llmcore.bridge.configuration.settings import GatewaySettings, is_loopback
from llmcore.schema.errors import ConfigurationError


def test_defaults_listen_on_loopback_and_store_in_sqlite() -> None:
    """The defaults listen on loopback and keep responses in SQLite."""
    settings = settings_from({})

    assert (settings.host, settings.upstream, settings.is_public) == ("127.0.0.1", "local", False)
    assert settings.state.backend == "sqlite"


@pytest.mark.parametrize(
    ("environ", "upstream"),
    [
        ({"ANTHROPIC_API_KEY": "k"}, "anthropic"),
        ({"OPENROUTER_API_KEY": "k"}, "openrouter"),
        ({"GROQ_API_KEY": "k", "OPENAI_API_KEY": "k"}, "openai"),
        ({"OPENAI_API_KEY": "k", "OPENBRIDGE_UPSTREAM": "local"}, "local"),
        (
            {"OPENAI_API_KEY": "k", "OPENBRIDGE_UPSTREAM_BASE_URL": "http://127.0.0.1:1/v1"},
            "openai-compatible",
        ),
    ],
)
def test_the_upstream_is_the_first_provider_with_a_key(
    environ: dict[str, str], upstream: str
) -> None:
    """Unless one is named."""
    assert settings_from(environ).upstream == upstream


def test_nothing_to_serve_is_an_error_that_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither a key nor the local model's package."""
    monkeypatch.setattr(config, "find_spec", lambda _name: None)

    with pytest.raises(ConfigurationError, match="no upstream is configured"):
        settings_from({})


REDIS = {"OPENBRIDGE_STATE_BACKEND": "redis", "OPENBRIDGE_REDIS_URL": "redis://x"}


def test_every_variable_changes_the_setting_it_names() -> None:
    """Each of them changes what it names."""
    settings = settings_from(
        {
            "OPENBRIDGE_HOST": "0.0.0.0",
            "OPENBRIDGE_PORT": "9000",
            "OPENBRIDGE_LOG_LEVEL": "DEBUG",
            "OPENBRIDGE_UPSTREAM": "groq",
            "OPENBRIDGE_MODEL_MAP_PATH": "/etc/map.json",
            "OPENBRIDGE_CLIENT_API_KEY": "one, two",
            "OPENBRIDGE_STATE_BACKEND": "redis",
            "OPENBRIDGE_REDIS_URL": "redis://x",
            "OPENBRIDGE_STATE_TTL_SECONDS": "60",
            "OPENBRIDGE_RATE_LIMIT_PER_MINUTE": "5",
            "OPENBRIDGE_TOTAL_SECONDS": "9.5",
            "OPENBRIDGE_RETRY_TIMEOUTS": "true",
            "OPENBRIDGE_HOSTED_TOOLS": "function",
            "OPENBRIDGE_RETRY_WITHOUT": "none",
            "OPENBRIDGE_CHECK_STREAM": "true",
            "OPENBRIDGE_STRUCTURED_OUTPUT": "degrade",
            "OPENBRIDGE_STRUCTURED_OUTPUT_BY_FRONT": "gemini=error, openai-chat=degrade",
            "OPENBRIDGE_KEEP_ALIVE_BY_FRONT": "openai-chat = None",
            "OPENBRIDGE_PREFILL": "error",
            "OPENBRIDGE_CHAT_REASONING": "both",
            "OPENBRIDGE_MODEL_PREFIX": "claude-via-",
            "OPENBRIDGE_MAX_CHOICES": "4",
        }
    )

    assert settings.client_api_keys == ("one", "two")
    assert settings.model_map_path == Path("/etc/map.json")
    assert (settings.state.backend, settings.state.ttl_s) == ("redis", 60)
    assert (settings.limits.rate_per_minute, settings.limits.total_s) == (5, 9.5)
    assert (settings.retry_timeouts, settings.hosted_tools) == (True, "function")
    assert (settings.retry_without, settings.check_stream) == ((), True)
    assert (settings.log_level, settings.structured_output) == ("debug", "degrade")
    assert settings.structured_output_by_front == {"gemini": "error", "openai-chat": "degrade"}
    assert settings.keep_alive_by_front == {"openai-chat": "none"}
    assert (settings.prefill, settings.model_prefix) == ("error", "claude-via-")
    assert settings.chat_reasoning == "both"
    assert settings.limits.max_choices == 4


NO_KEYS = ("", "  ", ",", " , ", "none", "None", "null", "sk-1,undefined")
"""A program writes this into the variable if its own variable is not set."""


@pytest.mark.parametrize(
    ("environ", "says"),
    [
        ({"OPENBRIDGE_HOST": "0.0.0.0"}, "OPENBRIDGE_CLIENT_API_KEY"),
        ({"OPENBRIDGE_HOST": "bridge.example"}, "OPENBRIDGE_CLIENT_API_KEY"),
        ({"OPENBRIDGE_HOST": "::", "OPENBRIDGE_CLIENT_API_KEY": "k"}, "RATE_LIMIT_PER_MINUTE"),
        *(({"OPENBRIDGE_CLIENT_API_KEY": text}, "names no key") for text in NO_KEYS),
        ({"OPENBRIDGE_PORT": "many"}, "OPENBRIDGE_PORT='many' is not a whole number"),
        ({"OPENBRIDGE_PORT": "-1"}, "at least 0"),
        ({"OPENBRIDGE_PORT": "70000"}, "at most 65535"),
        ({"OPENBRIDGE_IDLE_SECONDS": "nan"}, "OPENBRIDGE_IDLE_SECONDS"),
        ({"OPENBRIDGE_STATE_BACKEND": "disk"}, "sqlite, memory, redis"),
        ({"OPENBRIDGE_STATE_BACKEND": "redis"}, "OPENBRIDGE_REDIS_URL"),
        ({**REDIS, "OPENBRIDGE_STATE_MAX_BYTES": "1"}, "maxmemory"),
        ({**REDIS, "OPENBRIDGE_STATE_MAX_ENTRIES": "1"}, "maxmemory"),
        ({"OPENBRIDGE_STATE_MAX_ENTRIES": "0"}, "at least 1"),
        ({"OPENBRIDGE_STATE_PATH": "~no-such-user/x"}, "OPENBRIDGE_STATE_PATH has an unknown home"),
        ({"OPENBRIDGE_ALLOWED_ORIGINS": "*"}, "set OPENBRIDGE_CLIENT_API_KEY"),
        ({"OPENBRIDGE_ALLOWED_ORIGINS": "app.example"}, "such as https://app.example"),
        ({"OPENBRIDGE_ALLOWED_ORIGINS": "https://app.example/"}, "without a path"),
        ({"OPENBRIDGE_ALLOWED_ORIGINS": "https://App.example"}, "in small letters"),
        ({"OPENBRIDGE_BUDGETS_TIME_ZONE": "Mars/Olympus"}, "such as Europe/Berlin"),
        ({"OPENBRIDGE_BUDGETS_TIME_ZONE": "../etc/passwd"}, "such as Europe/Berlin"),
        ({"OPENBRIDGE_BUDGETS_TIME_ZONE": "Europe"}, "such as Europe/Berlin"),
        ({"OPENBRIDGE_CHECK_STREAM": "perhaps"}, "neither true nor false"),
        ({"OPENBRIDGE_MAX_CHOICES": "0"}, "at least 1"),
        ({"OPENBRIDGE_PREFILL": "drop"}, "not one of continue, error"),
        ({"OPENBRIDGE_CHAT_REASONING": "text"}, "not one of reasoning_content, reasoning, both"),
        ({"OPENBRIDGE_STRUCTURED_OUTPUT_BY_FRONT": "degrade"}, "gemini=error|degrade"),
        ({"OPENBRIDGE_STRUCTURED_OUTPUT_BY_FRONT": "gemini="}, "gemini=error|degrade"),
        ({"OPENBRIDGE_KEEP_ALIVE_BY_FRONT": "gemini=comment"}, "gemini=none"),
        ({"OPENBRIDGE_KEEP_ALIVE_BY_FRONT": "chat=none"}, "openai-chat=blank|none"),
        ({"OPENBRIDGE_UPSTREAM": "openai-compatible"}, "OPENBRIDGE_UPSTREAM_BASE_URL"),
        (
            {"OPENBRIDGE_MODEL_MAP": "x"},
            "unknown: OPENBRIDGE_MODEL_MAP (did you mean OPENBRIDGE_MODEL_MAP_PATH",
        ),
        ({"OPENBRIDGE_API_KEYS": "x"}, " or OPENBRIDGE_CLIENT_API_KEY"),
        (
            {"OPENBRIDGE_MODEL": "x"},
            "(did you mean OPENBRIDGE_MODEL_MAP_PATH or OPENBRIDGE_MODEL_PREFIX? `openbridge ",
        ),
        (
            {"OPENBRIDGE_FOO": "x"},
            "unknown: OPENBRIDGE_FOO (`openbridge config init` writes a file that lists all",
        ),
    ],
)
def test_invalid_values_are_refused(environ: dict[str, str], says: str) -> None:
    """The error names the variable."""
    with pytest.raises(ConfigurationError) as raised:
        settings_from(environ)
    assert says in str(raised.value)


@pytest.mark.parametrize(
    ("host", "ours"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("localhost", True),
        ("::1", True),
        ("[::1]", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.5", False),
        ("example.com", False),
    ],
)
def test_which_addresses_are_this_machines_alone(host: str, ours: bool) -> None:
    """Names other than localhost could be anybody's."""
    assert is_loopback(host) is ours


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    """`.env` fills in what is not set."""
    (tmp_path / ".env").write_text("OPENBRIDGE_PORT=1\nOPENROUTER_API_KEY='k # x'\nEMPTY\n")

    found = read_environment({"OPENBRIDGE_PORT": "2"}, tmp_path)

    assert found == {"OPENBRIDGE_PORT": "2", "OPENROUTER_API_KEY": "k # x"}


def test_a_named_file_must_be_there(tmp_path: Path) -> None:
    """A typing error in its name would otherwise start a gateway without keys."""
    named = {"OPENBRIDGE_ENV_FILE": str(tmp_path / "missing.env")}

    with pytest.raises(ConfigurationError, match=r"missing\.env"):
        read_environment(named, tmp_path)


@pytest.mark.parametrize("word", ["none", " None "])
def test_no_file_of_variables_is_read_for_none(tmp_path: Path, word: str) -> None:
    """As for the configuration file."""
    (tmp_path / ".env").write_text("OPENBRIDGE_PORT=1\n")
    named = {"OPENBRIDGE_ENV_FILE": word}

    assert read_environment(named, tmp_path) == named


@pytest.mark.parametrize("name", ["COOL_DOWN_SECONDS", "KEY_COOL_DOWN_SECONDS"])
def test_cool_downs_can_be_switched_off(name: str) -> None:
    settings = settings_from({"OPENROUTER_API_KEY": "k", f"OPENBRIDGE_{name}": "0"})

    assert 0 in (settings.cool_downs.failure_s, settings.cool_downs.key_s)


def test_secrets_are_not_in_the_repr() -> None:
    """Settings can be logged."""
    settings = GatewaySettings(
        client_api_keys=("sk-client",), seal_key="sk-seal", environ={"K": "sk-upstream"}
    )

    assert "sk-" not in repr(settings)
