"""Counts what an eth_account wallet signs: import this, and read `signatures()` at the end."""
from eth_account.signers.local import LocalAccount

_count = 0


def _counted(method):
    def sign(self, *arguments, **options):
        global _count
        _count += 1
        return method(self, *arguments, **options)

    return sign


for _name in ("sign_typed_data", "sign_message", "unsafe_sign_hash"):
    setattr(LocalAccount, _name, _counted(getattr(LocalAccount, _name)))


def signatures() -> int:
    return _count
