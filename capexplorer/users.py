"""User classes for locustfiles: `from capexplorer.users import LeanHttpUser`."""

from __future__ import annotations

from .load.lean.user import LeanHttpUser

__all__ = ["LeanHttpUser"]
