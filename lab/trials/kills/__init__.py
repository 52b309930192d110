"""SIGKILL at random moments."""
