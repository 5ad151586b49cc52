"""A synthetic store for trying the program: invented, believable, the same every time."""

from loop_tui.demo.build import write_demo

__all__ = ["write_demo"]
