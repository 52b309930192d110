"""The screen in a terminal."""
