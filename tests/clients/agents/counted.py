"""Counts what an eth_account wallet signs: import this, and read `signatures()` at the end.

With SIGN_AFTER it says that it is asked to (FILE.asked), and signs once that file exists, or after a minute.
"""
import os
import time
from pathlib import Path

from eth_account.signers.local import LocalAccount

_count = 0


def _counted(method):
    def sign(self, *arguments, **options):
        global _count
        _count += 1
        if file := os.environ.get("SIGN_AFTER"):
            Path(file + ".asked").touch()
            end = time.monotonic() + 60
            while time.monotonic() < end and not os.path.exists(file):
                time.sleep(0.02)
        return method(self, *arguments, **options)

    return sign


for _name in ("sign_typed_data", "sign_message", "unsafe_sign_hash"):
    setattr(LocalAccount, _name, _counted(getattr(LocalAccount, _name)))


def signatures() -> int:
    return _count
