"""`loop_core.check` is a function of the SDK and the name of this module: it is callable.

Importing the module puts it in the place of the function, so it behaves as that function.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType

from loop_core.loop.check import CheckResult, Verified, check, verify

__all__ = ["CheckResult", "Verified", "check", "verify"]


class _Check(ModuleType):
    def __call__(self, path: str | os.PathLike[str]) -> CheckResult:
        return check(path)


sys.modules[__name__].__class__ = _Check
