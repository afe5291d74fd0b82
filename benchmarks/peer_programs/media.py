"""With pydantic-ai, which raises NotImplementedError for what a provider cannot read."""

from pydantic_ai import Agent, BinaryContent, DocumentUrl, ImageUrl

question = [
    "What do these have in common?",
    ImageUrl("https://example.com/chart.png"),
    DocumentUrl("https://example.com/report.pdf"),
    BinaryContent(b"RIFF....WAVEfmt ", media_type="audio/wav"),
]
for model in (
    "openai:gpt-5.2",
    "anthropic:claude-sonnet-4-6",
    "google:gemini-3-flash-preview",
    "mistral:pixtral-large-latest",
):
    try:
        print(model, Agent(model).run_sync(question).output)
    except NotImplementedError as error:
        print(model, error)
