"""The session log: writing, reading, checksums, removal of secrets, upgrade of older formats, import, and lists of sessions."""
