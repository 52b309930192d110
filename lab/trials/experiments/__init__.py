"""Live evidence for knees and verdicts."""
