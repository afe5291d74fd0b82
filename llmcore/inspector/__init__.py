"""The inspector: a recorded exchange, session or stream as one page of HTML.

- `exchange`: one exchange as JSON: the wire beside the events, lanes over time, tokens, cost
- `files`: the documents of files: cassettes, exported sessions, streams, events
- `page`: the page of a document, with everything that it needs within it
- `redaction`: what looks like a credential is replaced in everything that is shown

`viewer.js` and `viewer.css` are the page's script and style; the gateway's `/ui` has them too.
"""
