"""Real runs of the services of a Compose file."""
