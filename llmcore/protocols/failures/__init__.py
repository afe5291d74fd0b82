"""Errors of every API as the typed errors of `llmcore.schema`, and limits that answers state.

In reading order: `error_body` (the fields of an error, wherever a server puts them), `errors` (the
classifier, with its tables of codes), `context_length` (messages that mean too many tokens),
`foreign_document` (answers of another API), `rejected_fields` (fields that a server rejects by
name), `rate_limit` (headers).
"""
