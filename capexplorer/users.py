"""What locustfiles import: `from capexplorer.users import LeanHttpUser, stream`."""

from __future__ import annotations

from .load.lean.user import LeanHttpUser
from .load.streams import StreamEvent, stream

__all__ = ["LeanHttpUser", "StreamEvent", "stream"]
