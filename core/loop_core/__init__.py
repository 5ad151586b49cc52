"""Sessions of coding agents on disk: Loop and Craft-Agents. See docs/ARCHITECTURE.md."""
