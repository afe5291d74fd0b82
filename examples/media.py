"""An image, a document and a recording for four providers; what one cannot read is reported."""

from llmcore import Anthropic, AudioPart, DocumentPart, Google, ImagePart, Message, OpenAI, sync
from llmcore.routes.chat_providers import Mistral

question = Message.user(
    "What do these have in common?",
    ImagePart(url="https://example.com/chart.png"),  # or path=..., or data=b"..."
    DocumentPart(url="https://example.com/report.pdf"),
    AudioPart(data=b"RIFF....WAVEfmt ", media_type="audio/wav"),
)
for model in (
    OpenAI.configure().responses("gpt-5.2"),
    Anthropic.configure().model("claude-sonnet-4-5"),
    Google.configure().model("gemini-3-flash-preview"),
    Mistral.configure().model("pixtral-large-latest"),
):
    result = sync.generate(model, messages=[question])
    print(model.provider, result.text, *result.diagnostics, sep="\n  ")
