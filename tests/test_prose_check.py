"""The lint for prose: what it finds, and what it leaves alone."""

import pytest

from scripts.check_prose import faults_of


@pytest.mark.parametrize(
    "source",
    [
        '"""What the state holds."""',
        '"""Take a chunk."""',
        '"""Words."""',
        'raise ValueError(f"{text} is no URL")',
        "x = 1  # nobody waits for it",
        '"""Return the port.\n\n    Runs for ever.\n    """',
        'raise ValueError("the limit makes no sense")',
        '"""Wait, if need be."""',
        "# the file knows no paths",
        '"""The header that says who asks."""',
        '"""The text that was said."""',
        '"""Return what reads the deltas of a text."""',
        '"""Read the settings anew."""',
        "# a lock of ours alone",
        '"""Put a text in the place of each part."""',
        'raise ValueError("the key is revoked for good")',
    ],
)
def test_prose_that_slows_readers_down_is_found(source: str) -> None:
    """In docstrings, messages and comments."""
    assert len(list(faults_of("llmcore/x.py", source))) == 1


def test_words_for_data_are_found_in_the_library_alone() -> None:
    assert list(faults_of("tests/test_x.py", '"""The model says hello."""')) == []


@pytest.mark.parametrize(
    "source",
    [
        '"""Whatever the server sends is kept."""',
        '"""Return the key, if there is none in the file."""',
        'raise ValueError("the key is no longer valid")',
        "nobody = 'nobody'",
    ],
)
def test_plain_english_and_names_are_left_alone(source: str) -> None:
    """Texts without a space are values, not prose."""
    assert list(faults_of("llmcore/x.py", source)) == []


def test_strings_of_tests_are_data() -> None:
    """Their docstrings are read like all others."""
    source = '"""{}"""\nassert ask("it is no city") == "nobody knows"\n'

    assert list(faults_of("tests/test_x.py", source.format("The cities."))) == []
    assert len([*faults_of("tests/test_x.py", source.format("What is asked."))]) == 2
