"""The Responses API over WebSockets, which Codex and the official clients speak.

Source: https://developers.openai.com/api/docs/guides/websocket-mode, read November 2026.

- `messages`: what clients send and how errors are sent
- `connection`: one connection: its lanes, memory, limits and end
"""
