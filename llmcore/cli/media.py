"""`llmcore image`, `speak` and `transcribe`: images, and text to speech and back.

llmcore image "A fox in the snow" -m openai:gpt-image-2 -o fox.png
llmcore speak "Hello." -m openai:gpt-4o-mini-tts --voice alloy -o hello.mp3
llmcore transcribe hello.mp3 -m openai:whisper-1
"""

import argparse
import mimetypes
import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, Final, TypeVar

from llmcore.cli.attachments import recording
from llmcore.cli.failures import UsageError
from llmcore.cli.options import IMAGE, SPEECH, TRANSCRIPTION
from llmcore.cli.printing import describe
from llmcore.cli.program import note, print_json, say
from llmcore.cli.request_options import decoded, make_client, model_of, stdin_text
from llmcore.cli.user_config import read_config
from llmcore.generation.media import generate_image, generate_speech, transcribe
from llmcore.generation.plain_values import to_plain
from llmcore.schema.audio import TimedText
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.unary import UnaryResponse

_Response = TypeVar("_Response", bound=UnaryResponse)

# -- the commands


async def image(args: argparse.Namespace) -> int:
    """Make images: write each to a file and print its name, or the URL of one elsewhere."""
    prompt = _words(args.prompt, "describe the image")
    _check_folder(args.output)
    drawn = await _call(args, IMAGE, lambda model, more: generate_image(model, prompt, **more))
    for made in drawn.images:
        if made.data is None:
            say(made.url or "")
        else:
            _put(args.output, "image", made.data, made.media_type)
    return 0


async def speak(args: argparse.Namespace) -> int:
    """Turn text into speech."""
    text = _words(args.text, "give the text")
    _check_folder(args.output)
    speech = await _call(args, SPEECH, lambda model, more: generate_speech(model, text, **more))
    _put(args.output, "speech", speech.audio.data or b"", speech.audio.media_type)
    return 0


async def transcribe_recording(args: argparse.Namespace) -> int:
    """Print the text of a recording."""
    audio = recording(args.recording)
    heard = await _call(args, TRANSCRIPTION, lambda model, more: transcribe(model, audio, **more))
    if args.json:
        fields = ("text", "language", "duration", "segments", "words")
        document = {name: to_plain(getattr(heard, name)) for name in fields}
        print_json(document, indent=2)
    else:
        say("\n".join(_line(timed) for timed in heard.segments or heard.words) or heard.text)
    return 0


def _line(timed: TimedText) -> str:
    speaker = f"{timed.speaker}: " if timed.speaker else ""
    return f"[{timed.start:.2f} - {timed.end:.2f}] {speaker}{timed.text.strip()}"


async def _call(
    args: argparse.Namespace,
    options: Mapping[str, Any],
    call: Callable[[Any, Any], Awaitable[_Response]],
) -> _Response:
    """Return the response to *call*, given the model and the options that were set."""
    more = {name: getattr(args, name) for name in options if getattr(args, name) not in (None, ())}
    started = time.monotonic()
    async with make_client() as client:
        name = read_config(os.environ).model_named(args.model)
        model = model_of(name, client)
        response = await call(model, {**more, "client": client})
    for diagnostic in response.diagnostics:
        note(f"note: {diagnostic}")
    note(describe(response.usage, response.cost, started, None))
    return response


def _words(given: list[str], missing: str) -> str:
    text = "\n\n".join(part for part in (decoded(" ".join(given)), stdin_text()) if part)
    if not text:
        raise UsageError(f"there is nothing to do: {missing}, or put text on stdin")
    return text


# -- files


def _check_folder(output: str | None) -> None:
    """Raise InvalidRequestError if *output* is in no folder, before anything is paid for."""
    folder = Path(output or "").expanduser().parent
    if not folder.is_dir():
        raise InvalidRequestError(f"cannot write {output}: the folder {folder} does not exist")


def _put(output: str | None, usual: str, data: bytes, media_type: str | None) -> None:
    """Write *data* to *output*, or to *usual* with the ending of its kind, and print the name.

    Nothing is overwritten: where there is a file, the next free name is taken, such as `fox-2.png`.
    """
    if output == "-":
        sys.stdout.buffer.write(data)
        return
    path = Path(output).expanduser() if output else Path(usual + _ending(media_type))
    for candidate in _names(path):
        try:
            with candidate.open("xb") as file:
                file.write(data)
        except FileExistsError:
            continue
        except OSError as error:
            raise InvalidRequestError(f"cannot write {candidate}: {error.strerror}") from error
        say(str(candidate))
        return


def _ending(media_type: str | None) -> str:
    kind = (media_type or "").partition(";")[0].lower()
    return mimetypes.guess_extension(kind) or (".pcm" if kind in _SAMPLES else ".bin")


_SAMPLES: Final = frozenset({"audio/l16", "audio/pcm"})


def _names(path: Path) -> Iterator[Path]:
    yield path
    yield from (path.with_stem(f"{path.stem}-{number}") for number in count(2))
