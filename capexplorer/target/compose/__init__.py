"""The services of a Compose file as a target: a process of its own, below the supervisor, starts, watches and removes them."""
