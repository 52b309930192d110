"""Dialogs over a screen: each asks one question and returns the answer. None knows the screen below."""
