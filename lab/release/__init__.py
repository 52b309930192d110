"""A release by one command: `python -m lab.release VERSION` (`make release VERSION=0.2.0`)."""
