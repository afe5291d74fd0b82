"""Where caches, settings and data are: `llmcore/client/user_folders.py`."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from llmcore.client.user_folders import cache_dir, config_dir, data_dir
from llmcore.schema.errors import ConfigurationError


def test_a_home_that_is_not_here_is_reported() -> None:
    """By the variable that names it."""
    with pytest.raises(ConfigurationError, match="LLMCORE_CACHE_DIR"):
        cache_dir({"LLMCORE_CACHE_DIR": "~no-such-user/x"})
    with pytest.raises(ConfigurationError, match="LLMCORE_CONFIG_DIR"):
        config_dir({"LLMCORE_CONFIG_DIR": "~no-such-user/x"})


@pytest.mark.parametrize(
    ("environ", "platform", "expected"),
    [
        ({"LLMCORE_CACHE_DIR": "/own", "XDG_CACHE_HOME": "/xdg"}, "linux", "/own"),
        ({"XDG_CACHE_HOME": "/xdg", "HOME": "/home/ada"}, "linux", "/xdg/llmcore"),
        ({"XDG_CACHE_HOME": "here", "HOME": "/home/ada"}, "linux", "/home/ada/.cache/llmcore"),
        ({"HOME": "/home/ada"}, "linux", "/home/ada/.cache/llmcore"),
        ({"HOME": "/Users/ada"}, "darwin", "/Users/ada/Library/Caches/llmcore"),
        ({"LOCALAPPDATA": "/local"}, "win32", "/local/llmcore/Cache"),
        ({"USERPROFILE": "/ada"}, "win32", "/ada/AppData/Local/llmcore/Cache"),
    ],
)
def test_the_cache_is_where_the_platform_keeps_caches(
    environ: Mapping[str, str], platform: str, expected: str
) -> None:
    """Our own variable first, then XDG's if absolute, then the platform's place."""
    assert cache_dir(environ, platform) == Path(expected)


@pytest.mark.parametrize(
    ("environ", "platform", "expected"),
    [
        ({"LLMCORE_CONFIG_DIR": "/own", "XDG_CONFIG_HOME": "/x"}, "linux", "/own"),
        ({"XDG_CONFIG_HOME": "/x", "HOME": "/h"}, "linux", "/x/llmcore"),
        ({"XDG_CONFIG_HOME": "relative", "HOME": "/h"}, "linux", "/h/.config/llmcore"),
        ({"HOME": "/h"}, "darwin", "/h/Library/Application Support/llmcore"),
        ({"APPDATA": "/a", "USERPROFILE": "/h"}, "win32", "/a/llmcore"),
        ({"USERPROFILE": "/h"}, "win32", "/h/AppData/Roaming/llmcore"),
    ],
)
def test_settings_are_in_the_platforms_folder_or_the_variables(
    environ: Mapping[str, str], platform: str, expected: str
) -> None:
    """In the platform's own place, unless the environment says another."""
    assert config_dir(environ, platform) == Path(expected)


@pytest.mark.parametrize(
    ("folder", "variable"),
    [
        (cache_dir, "LLMCORE_CACHE_DIR"),
        (config_dir, "LLMCORE_CONFIG_DIR"),
        (data_dir, "XDG_DATA_HOME"),
    ],
)
def test_without_a_home_the_error_names_the_variable(
    folder: Callable[[Mapping[str, str], str], Path],
    variable: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The error of a daemon without a home directory names the variable to set."""

    def no_home() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", no_home)

    with pytest.raises(ConfigurationError, match=variable):
        folder({}, "linux")
