"""A terminal browser for the sessions of coding agents."""

__version__ = "0.1.0"
