"""HTTP for the client.

In reading order: `options` (what users can choose), `proxies` (which proxy a URL goes through),
`transport` (redirects, responses and errors), `decompression` (compressed bodies).
"""
