"""An image, a document and a recording for four providers; unsupported ones are reported."""

from llmcore import AudioPart, DocumentPart, ImagePart, Message, sync

question = Message.user(
    "What do these have in common?",
    ImagePart(url="https://example.com/chart.png"),  # or ImagePart.of("chart.png")
    DocumentPart(url="https://example.com/report.pdf"),
    AudioPart(data=b"RIFF....WAVEfmt ", media_type="audio/wav"),
)
for model in (
    "openai:gpt-5.2",
    "anthropic:claude-sonnet-4-6",
    "google:gemini-3-flash-preview",
    "mistral:pixtral-large-latest",
):
    result = sync.generate(model, messages=[question])
    print(model, result.text, *result.diagnostics, sep="\n  ")
