"""Generates an image, and edits it."""

from pathlib import Path

from llmcore import sync

drawn = sync.generate_image("openai:gpt-image-2", "A fox in the snow", size="1024x1024")
Path("winter.png").write_bytes(drawn.image.data or b"")
edited = sync.generate_image("openai:gpt-image-2", "The same fox in summer", images="winter.png")
Path("summer.png").write_bytes(edited.image.data or b"")
print(edited.image.media_type, edited.usage.input_tokens, "tokens in")
