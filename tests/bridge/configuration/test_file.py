"""`openbridge.toml` beside variables: sections, precedence, and what is refused."""

import re
from pathlib import Path
from typing import Any

import pytest

from llmcore.bridge.accounts.prices import price_list
from llmcore.bridge.configuration.document import parse_document
from llmcore.bridge.configuration.reading import find_config, settings_from, settings_of
from llmcore.bridge.configuration.settings import GatewaySettings
from llmcore.bridge.configuration.values import SECTIONS, Values, file_keys
from llmcore.bridge.model_map import ModelPool, UpstreamModel, model_map_of
from llmcore.bridge.pools.providers import upstreams_from
from llmcore.bridge.state.stores import ledger_for, store_for
from llmcore.schema.errors import ConfigurationError


def read(text: str, **environ: str) -> GatewaySettings:
    return settings_of(environ, parse_document(Path("/etc/openbridge.toml"), text))


WHOLE = """
[server]
host = "0.0.0.0"
port = 9000
log_level = "debug"
client_api_key = "one, two"
allowed_hosts = ["a.example", "b.example"]
[routing]
upstream = "groq"
model_map_path = "map.json"
retry_timeouts = true
[limits]
total_seconds = 9.5
idle_seconds = 30
rate_limit_per_minute = 5
[state]
backend = "redis"
redis_url = "redis://x"
ttl_seconds = 60
[policies]
hosted_tools = "function"
retry_without = []
"""


def test_every_section_of_the_file_reaches_the_settings() -> None:
    settings = read(WHOLE)

    assert (settings.host, settings.port, settings.log_level) == ("0.0.0.0", 9000, "debug")
    assert settings.client_api_keys == ("one", "two")
    assert settings.allowed_hosts == ("a.example", "b.example")
    assert (settings.upstream, settings.retry_timeouts) == ("groq", True)
    assert (settings.limits.total_s, settings.limits.idle_s) == (9.5, 30.0)
    assert (settings.state.backend, settings.state.ttl_s) == ("redis", 60.0)
    assert (settings.hosted_tools, settings.retry_without) == ("function", ())
    assert settings.config_path == Path("/etc/openbridge.toml")


def test_a_relative_path_is_below_the_files_folder() -> None:
    assert read(WHOLE).model_map_path == Path("/etc/map.json")
    assert read('[state]\npath = "/var/x"').state.path == Path("/var/x")


def test_a_variable_wins_over_the_file() -> None:
    settings = read(WHOLE, OPENBRIDGE_PORT="1", OPENBRIDGE_RETRY_WITHOUT="tools")

    assert (settings.port, settings.log_level) == (1, "debug")
    assert settings.retry_without == ("tools",)


@pytest.mark.parametrize(
    ("file", "variables", "missing"),
    [
        ('[state]\nbackend = "redis"', {"STATE_BACKEND": "redis"}, "REDIS_URL"),
        ('[state]\nbackend = "postgres"', {"STATE_BACKEND": "postgres"}, "POSTGRES_URL"),
        ('[server]\nhost = "0.0.0.0"', {"HOST": "0.0.0.0"}, "CLIENT_API_KEY"),
        (
            '[server]\nhost = "0.0.0.0"\nclient_api_key = "k"',
            {"HOST": "0.0.0.0", "CLIENT_API_KEY": "k"},
            "RATE_LIMIT_PER_MINUTE",
        ),
        ('[server]\nallowed_origins = ["*"]', {"ALLOWED_ORIGINS": "*"}, "CLIENT_API_KEY"),
    ],
)
def test_what_is_missing_is_named_as_it_is_set(
    file: str, variables: dict[str, str], missing: str
) -> None:
    """By its key where there is a file, else by its variable."""
    local = {"OPENBRIDGE_UPSTREAM": "local"}
    key = ".".join(file_keys(missing))
    with pytest.raises(ConfigurationError, match=f"{key} in openbridge.toml"):
        read(file, **local)
    with pytest.raises(ConfigurationError, match=f"OPENBRIDGE_{missing}"):
        settings_of({**local, **{f"OPENBRIDGE_{n}": v for n, v in variables.items()}}, None)


def test_errors_of_a_running_gateway_name_a_setting_where_it_is() -> None:
    """The key of the file, or the variable that takes precedence over it."""
    file = '[state]\nbackend = "redis"\nredis_url = "redis://:secret@h:port"\n'
    cases = {
        "state.redis_url in openbridge.toml is not": read(file),
        "OPENBRIDGE_REDIS_URL is not": read(file, OPENBRIDGE_REDIS_URL="redis://:secret@h:p"),
    }
    for message, settings in cases.items():
        for open_store in (store_for, ledger_for):
            with pytest.raises(ConfigurationError, match=f"^{message}") as caught:
                open_store(settings)
            assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("file", "variables", "place"),
    [
        ("", {}, r"\[prices\] of openbridge\.toml"),
        ("[budgets]\nprices_path = 'p.json'", {}, "file at budgets.prices_path in openbridge.toml"),
        ("", {"OPENBRIDGE_PRICES_PATH": "p.json"}, "file at OPENBRIDGE_PRICES_PATH"),
    ],
)
def test_the_place_of_prices_is_named_as_it_is_configured(
    file: str, variables: dict[str, str], place: str, tmp_path: Path, monkeypatch: Any
) -> None:
    """In the error of a model without a price."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.json").write_text("{}")
    document = parse_document(tmp_path / "openbridge.toml", file)
    settings = settings_of({"OPENBRIDGE_UPSTREAM": "local", **variables}, document)
    assert re.search(place, price_list(settings).place)


def test_every_variable_has_a_key_of_its_own_in_the_file(monkeypatch: Any) -> None:
    """Those that say which files are read are left out."""
    values = Values({})
    names: set[str] = set()
    find = Values._find

    def recording(self: Values, name: str, **how: Any) -> Any:
        names.add(name)
        return find(self, name, **how)

    monkeypatch.setattr(Values, "_find", recording)
    settings_of({"OPENBRIDGE_UPSTREAM": "local"}, None)
    listed = [name for section in SECTIONS.values() for name in section]

    assert sorted(listed) == sorted(names - {"CONFIG", "ENV_FILE"})
    assert len({file_keys(name) for name in listed}) == len(listed)
    assert not values.given("HOST")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[sever]\n", r"openbridge\.toml line 1: sever is not a setting \(did you mean server\?\)"),
        ("port = 1\n", r"line 1: port is not a setting"),
        (
            "[server]\n\nprot = 1\n",
            r"line 3: server\.prot is not a setting \(did you mean port\?\)",
        ),
        ("server = 3\n", r"line 1: server is not a table"),
        (
            "[server]\nport = '1'\n",
            r"line 2: server\.port='1' is not a whole number: write it without quotes",
        ),
        ("[server]\nport = true\n", r"line 2: server\.port=True is not a whole number"),
        ("[server]\nport = 1.5\n", r"line 2: server\.port=1\.5 is not a whole number"),
        ("[limits]\nidle_seconds = inf\n", r"line 2: .*=inf must be at least 0\.001 and at most"),
        ("[state]\nttl_seconds = 1e300\n", r"line 2: .* and at most 1,000,000,000,000"),
        ("[server]\nport = 70000\n", r"line 2: server\.port=70000 must be at least 0 and at most"),
        ("[server]\nhost = 1\n", r"line 2: server\.host must be a text"),
        ("[server]\nhost = '0.0.0.0'\n", r"line 2: server\.host=0\.0\.0\.0 can be reached"),
        ("[server]\nclient_api_key = ''\n", r"line 2: server\.client_api_key is set and names no"),
        ("[server]\nclient_api_key = []\n", r"line 2: server\.client_api_key is set and names no"),
        ("[server]\nclient_api_key = 5\n", r"line 2: .* must be a text in quotes, or a list"),
        ("[server]\r\n\r\nprot = 1\r\n", r"line 3: server\.prot is not a setting"),
        (
            "[server]\nworkers = 2\n[state]\nbackend = 'memory'\n",
            r"line 2: server\.workers=2: several workers need a store that they share",
        ),
        ("[routing]\nupstream = 'grok'\n", r"line 2: routing\.upstream: there is no provider 'gr"),
        ("[routing]\notherwise = 'deny'\n", r"line 2: .*='deny' is not pass, refuse or upstream/"),
        ("[routing]\notherwise = 'gro/x'\n", r"line 2: .*: there is no provider 'gro': did you"),
        ("[server]\nlog_level = 'loud'\n", r"line 2: server\.log_level='loud' is not one of debug"),
        ("[policies]\nrelay = 'yes'\n", r"line 2: policies\.relay='yes' is neither true nor false"),
        ("[policies]\nretry_without = 'x'\n", r"line 2: policies\.retry_without must be a list"),
        ("[state]\nbackend = 'redis'\n", r"line 2: state\.backend=redis needs"),
        ("[limits]\nidle_seconds = nan\n", r"line 2: limits\.idle_seconds=nan must be"),
    ],
)
def test_what_is_invalid_is_refused_with_its_line(text: str, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        read(text)


def test_client_keys_are_a_text_or_a_list() -> None:
    assert read('[server]\nclient_api_key = "one, two"').client_api_keys == ("one", "two")
    assert read('[server]\nclient_api_key = ["one", "two"]').client_api_keys == ("one", "two")


def test_which_file_is_read(tmp_path: Path) -> None:
    """One that is named must be there; the folder's is taken if it is."""
    assert find_config({}, tmp_path) is None
    (tmp_path / "openbridge.toml").write_text("[server]\nport = 7\n")
    (tmp_path / "other.toml").write_text("")
    other = str(tmp_path / "other.toml")

    assert find_config({}, tmp_path) == tmp_path / "openbridge.toml"
    assert find_config({"OPENBRIDGE_CONFIG": other}, tmp_path) == tmp_path / "other.toml"
    assert find_config({"OPENBRIDGE_CONFIG": "none"}, tmp_path) is None
    with pytest.raises(ConfigurationError, match=r"missing\.toml, which is not a file"):
        find_config({"OPENBRIDGE_CONFIG": "missing.toml"}, tmp_path)
    assert settings_from({}, tmp_path / "openbridge.toml").port == 7


def test_secrets_of_the_file_are_not_in_reprs() -> None:
    text = '[server]\nclient_api_key = "sk-1"\nseal_key = "sk-2"\n'
    document = parse_document(Path("x"), text)

    assert "sk-" not in repr(document)
    assert "sk-" not in repr(settings_of({}, document))


def test_the_page_lists_every_key_of_every_section() -> None:
    page = Path("docs/openbridge-configuration.md").read_text(encoding="utf-8")

    for section, names in SECTIONS.items():
        if names:
            keys = ", ".join(f"`{file_keys(name)[1]}`" for name in names)
            assert f"| `[{section}]` | {keys} |" in page


def test_the_table_of_variables_has_every_setting_or_the_beginning_of_its_name() -> None:
    rows = Path("docs/openbridge.md").read_text(encoding="utf-8").split("| variable |")[1]
    listed = re.findall(r"`OPENBRIDGE_(\w+)(\.\.\.)?`", rows)
    names = {name for name, is_beginning in listed if not is_beginning}
    beginnings = tuple(name for name, is_beginning in listed if is_beginning)
    settings = {name for section in SECTIONS.values() for name in section}

    assert [n for n in sorted(settings - names) if not n.startswith(beginnings)] == []


UPSTREAMS = """
[[upstreams]]
name = "a"
provider = "anthropic"
key = "sk-1"
[[upstreams]]
name = "b"
provider = "anthropic"
key_file = "b.key"
"""


CYCLE = """[models.s]
targets = ["groq/s"]
on_context_overflow = "m"
[models.m]
targets = ["groq/m"]
on_context_overflow = "large"
[models.l]
targets = ["groq/l"]
aliases = ["large"]
on_context_overflow = "m"
"""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[upstreams]\nname = 'a'\n", r"line 1: upstreams is not an array of tables"),
        ("[[upstreams]]\nname = 'a'\n", r"line 1: upstreams\[1\] is invalid: .*`provider`"),
        ("[[upstreams]]\nnmae = 'a'\n", r"line 2: upstreams\[1\]\.nmae is not a setting"),
        ("[[upstreams]]\nname = 'a'\nprovider = 'x'\n", r"line 3: .*'x', which is not a provider"),
        ("[[upstreams]]\nname = 'a'\nprovider = 'Groq'\n", r"line 3: .*\(did you mean groq\?\)"),
        (
            "[[upstreams]]\nname = 'a/b'\nprovider = 'groq'\n",
            r"line 2: .*name is 'a/b': use letters",
        ),
        ('[[upstreams]]\nname = "a\\n"\nprovider = "groq"\n', r"line 2: .*: use letters, digits"),
        (f"{UPSTREAMS}weight = inf\n", r"line 10: upstreams\[2\]\.weight is invalid: .*<= 1000000"),
        (f"{UPSTREAMS}base_url = 'x'\n", r"line 10: .*base_url is refused: .*not an http\(s\) URL"),
        (f"{UPSTREAMS}place = 'x'\n", r"line 10: upstreams\[2\]\.place is not a setting"),
        (
            "[[clients]]\nname = 'x'\nkey = 'k'\n[[clients]]\nname = 'y'\nkey = 'k'\n",
            r"line 6: clients\[2\]\.key is the key of another client",
        ),
        ("[[clients]]\nname = 'x'\nkey = 'None'\n", r"line 3: clients\[1\]\.key is not a key"),
        ('[[clients]]\nname = "x"\nkey = "a\\nb"\n', r"line 3: .*that no HTTP header can have"),
        (
            "keys.admin_key='sk-client-16-chars'\n[[clients]]\nname='x'\nkey='sk-client-16-chars'",
            r"line 1: keys\.admin_key is one of the keys of clients",
        ),
        (
            "[models.gpt-5.5]\ntargets = ['groq/x']\n",
            r'line 1: .* \(a name with dots must be in quotes: models\."gpt-5\.5"\)',
        ),
        (
            "[models.m]\ntargets = [[{ upstream = 'groq', model = 'x', weight = 0 }]]\n",
            r"line 2: models\.m\.targets has no target with a weight above 0",
        ),
        (
            f"{UPSTREAMS}weight = 0\n[models.m]\ntargets = ['b/x']\n",
            r"line 12: models\.m\.targets has no target with a weight above 0",
        ),
        (f"{UPSTREAMS}weight = -1\n", r"line 10: upstreams\[2\]\.weight is invalid: .*>= 0"),
        (f"{UPSTREAMS}weight = '1'\n", r"line 10: upstreams\[2\]\.weight is invalid: Expected"),
        (f"{UPSTREAMS}key = 'x'\n", r"line 6: upstreams\[2\] gives more than one of key, "),
        (f"{UPSTREAMS}{UPSTREAMS}", r"line 12: upstreams\[3\]\.name 'a' is used twice"),
        ("[[clients]]\nname = 'a'\n", r"line 1: clients\[1\] needs a key"),
        ("[models.m]\n", r"line 1: models\.m\.targets must be a list"),
        ("[models.m]\ntargets = []\n", r"line 2: models\.m\.targets must be a list"),
        ("[models.m]\ntargets = ['x']\n", r"line 2: .*has 'x', which is not upstream/model"),
        ("[models.m]\ntargets = [[]]\n", r"line 2: .*has an empty list"),
        (
            f"{UPSTREAMS}[models.m]\ntargets = ['c/x']\n",
            r"line 11: .*'c', which is not one of a, anthropic, b, or a provider's id",
        ),
        (
            "[models.m]\ntargets = [{ upstream = 'groq', mode = 'x' }]\n",
            r"line 2: .*has mode: a target",
        ),
        ("[models.m]\ntargets = [{ upstream = 'groq' }]\n", r"line 2: .*`model`"),
        ("[models.m]\ntargets = ['groq/x']\nalias = ['y']\n", r"line 3: models\.m\.alias is not"),
        (
            "[models.m]\ntargets = ['groq/x']\n[models.n]\ntargets = ['groq/x']\naliases = ['m']\n",
            r"line 5: models\.n\.aliases has 'm', which is a name of 'm' already",
        ),
        (
            "[models.m]\ntargets = ['groq/x']\non_context_overflow = 'big'\n",
            r"line 3: .*names 'big', which is not another model",
        ),
        (
            "[models.m]\ntargets = ['groq/x']\non_content_filter = 'm'\n",
            r"line 3: models\.m\.on_content_filter names 'm', which is not another model",
        ),
        (
            CYCLE,
            r"line 3: models\.s\.on_context_overflow leads back to 'm': no model may come twice",
        ),
        (
            "[prefixes]\n'x-' = { upstream = 'nobody' }\n",
            r"line 2: .*names the upstream 'nobody', which is not a provider's id",
        ),
        ("[prices]\nx = 1\n", r"line 2: prices\.x is not a table"),
        ("[prices]\nx = { input = 1, output = 1 }\n", r"line 2: prices\.x is not upstream/model"),
        (
            f"{UPSTREAMS}[prices]\n'a/m' = {{ input = 1, output = 1 }}\n'c/m' = {{ input = 1 }}\n",
            r"line 12: prices\.\"c/m\" is invalid: .*`output`",
        ),
        (
            f"{UPSTREAMS}[prices]\n'c/m' = {{ input = 1, output = 1 }}\n",
            r"line 11: prices\.\"c/m\" names the upstream 'c', which is not one of a, b",
        ),
        (
            "[prices.'groq/m']\ninput = 1\noutput = -0.1\n",
            r"line 3: prices\.\"groq/m\"\.output is not a price of 0 or more",
        ),
        (
            "[prices.'groq/m']\ninput = inf\noutput = 1\n",
            r"line 2: prices\.\"groq/m\"\.input is not a price of 0 or more",
        ),
        (
            "[prices.'groq/m']\ninput = 1\noutput = 1\ncached = 1\n",
            r"line 4: prices\.\"groq/m\"\.cached is not a setting \(did you mean cache_read\?\)",
        ),
        (
            "[budgets]\nprices_path = 'x'\n[prices]\n'groq/m' = { input = 1, output = 1 }\n",
            r"line 2: budgets\.prices_path and \[prices\] exclude each other",
        ),
        (
            "[routing]\nmodel_map_path = 'x'\n[models.m]\ntargets = ['groq/x']\n",
            r"line 2: routing\.model_map_path and \[models\]",
        ),
    ],
)
def test_tables_that_cannot_work_are_refused_with_their_line(text: str, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says) as refused:
        read(text)
    assert "sk-1" not in str(refused.value)


def test_names_lead_to_their_targets() -> None:
    text = (
        f"{UPSTREAMS}weight = 3\n"
        '[routing]\notherwise = "a/claude"\n'
        "[models.fast]\ntargets = [['anthropic/haiku'], {upstream='b', model='x', weight=2}]\n"
        'aliases = ["quick"]\n[prefixes]\n"gpt-" = { upstream = "openrouter", add = "openai/" }\n'
    )
    settings = read(text)
    found = model_map_of(settings)

    pool = found.pool("quick")
    assert pool == found.pool("fast-20261122") == found.pool("fast[1m]")
    assert pool == ModelPool(
        (
            (UpstreamModel("a", "haiku"), UpstreamModel("b", "haiku", 3.0)),
            (UpstreamModel("b", "x", 2.0),),
        )
    )
    assert found.pool("gpt-5") == ModelPool(((UpstreamModel("openrouter", "openai/gpt-5"),),))
    assert found.pool("other") == ModelPool(((UpstreamModel("a", "claude"),),))
    assert found.providers == {"a", "b", "openrouter"}
    assert settings.upstream == "anthropic"
    assert "sk-1" not in repr(settings)


@pytest.mark.parametrize("page", ["configuration", "migration"])
def test_the_example_of_a_page_is_valid(page: str, tmp_path: Path) -> None:
    """With everything that it refers to."""
    text = (Path("docs") / f"openbridge-{page}.md").read_text()
    example = text.partition("```toml\n")[2].partition("```")[0]
    settings = settings_of({}, parse_document(tmp_path / "openbridge.toml", example))
    model_map = model_map_of(settings)

    assert model_map.names
    assert upstreams_from(settings, model_map).client.providers.keys() >= set(model_map.providers)
