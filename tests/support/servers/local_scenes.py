"""Prompts for the small local model that several tests share."""

from llmcore import Message, ToolDefinition
from llmcore.schema.content import ToolCallPart
from llmcore.schema.json import JsonObject

CITY: JsonObject = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
WEATHER = ToolDefinition("get_weather", "Get the current weather in a city.", CITY)
TIME = ToolDefinition("get_time", "Get the local time in a city.", CITY)

EXAMPLE = (
    Message.user("What are the weather and the time in Rome?"),
    Message.assistant(
        ToolCallPart("call_1", "get_weather", {"city": "Rome"}),
        ToolCallPart("call_2", "get_time", {"city": "Rome"}),
    ),
    Message.tool("call_1", "18 degrees, sunny"),
    Message.tool("call_2", "14:05"),
    Message.assistant("It is 18 degrees and sunny in Rome, and the time is 14:05."),
)
"""A small model calls tools once it has seen it done."""
