"""Errors of every API as the typed errors of `llmcore.schema`, and limits that responses state.

In reading order: `error_body` (the fields of an error, wherever a server puts them), `errors` (the
classifier, with its tables of codes), `limits` (headers about waiting; messages that mean too many
tokens).
"""
