"""Text to speech in a file, and the file transcribed again, with times."""

from pathlib import Path

from llmcore import sync

said = sync.generate_speech("openai:gpt-4o-mini-tts", "The train leaves at nine.", voice="alloy")
Path("train.mp3").write_bytes(said.audio.data or b"")
heard = sync.transcribe("openai:whisper-1", Path("train.mp3"), timestamps="segment")
for segment in heard.segments:
    print(f"{segment.start:.1f} to {segment.end:.1f} s: {segment.text}")
