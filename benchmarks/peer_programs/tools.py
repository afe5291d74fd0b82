"""With pydantic-ai."""

from datetime import date
from typing import Annotated

from pydantic import Field
from pydantic_ai import Agent


async def get_weather(city: str, day: date) -> str:
    """The weather of a city on a day."""
    return f"18 degrees and sunny in {city} on {day:%A}"


def convert(amount: float, to: Annotated[str, Field(description="ISO 4217 code")]) -> float:
    """Convert an amount of euros to another currency."""
    return amount * {"USD": 1.1, "NOK": 11.5}[to]


def book(hotel: str, nights: int = 1) -> str:
    """Book a hotel."""
    return f"{hotel}: {nights} nights are booked"


print(
    Agent("openai:gpt-5.2", tools=[get_weather, convert, book])
    .run_sync("Plan my trip to Oslo.")
    .output
)
