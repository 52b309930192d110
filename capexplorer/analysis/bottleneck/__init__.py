"""What limits the service at a level, or that no limit is reached (docs/causes.md)."""
