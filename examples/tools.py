"""Three functions that the model may call, one of them asynchronous."""

from datetime import date
from typing import Annotated

from llmcore import sync


async def get_weather(city: str, day: date) -> str:
    """The weather of a city on a day."""
    return f"18 degrees and sunny in {city} on {day:%A}"


def convert(amount: float, to: Annotated[str, "ISO 4217 code"]) -> float:
    """Convert an amount of euros to another currency."""
    return amount * {"USD": 1.1, "NOK": 11.5}[to]


def book(hotel: str, nights: int = 1) -> str:
    """Book a hotel."""
    return f"{hotel}: {nights} nights are booked"


print(
    sync.generate(
        "openai:gpt-5.2",
        "Plan my trip to Oslo.",
        tools=[get_weather, convert, book],
        max_tool_rounds=8,
    ).text
)
