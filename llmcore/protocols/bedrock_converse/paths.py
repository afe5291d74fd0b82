"""Bedrock Converse: the path of a call, which names the model.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
(`modelId`), read November 2026: ids of models and of inference profiles, and the ARNs of
profiles, provisioned and imported models, prompts and prompt routers.
"""

from typing import Protocol
from urllib.parse import quote


class PathContext(Protocol):
    """What the path depends on; `llmcore.routes.endpoint.EndpointContext` is one."""

    @property
    def model_id(self) -> str:
        """The model's id or ARN, as the caller wrote it."""
        ...

    @property
    def streaming(self) -> bool:
        """Whether the answer is to be streamed."""
        ...


def converse_path(context: PathContext) -> str:
    """Return the path of a call: the model's id or ARN encoded as one segment."""
    operation = "converse-stream" if context.streaming else "converse"
    return f"/model/{quote(context.model_id, safe='')}/{operation}"
