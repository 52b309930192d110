"""The session log: writing, reading, checksums, removal of secrets, import, and lists of sessions."""
