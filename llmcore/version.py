"""The version, known without reading package metadata."""

VERSION = "0.1.0"
