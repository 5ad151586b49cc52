"""Measurements of loop-tui, each as a ratio to the least work that could do the same.

``python -m benchmarks`` runs them all (`--quick` with smaller sizes); each module also runs
by itself. Everything is made in temporary directories.
"""
