"""Rate levels in the load thread: an arrival schedule, users that wait for arrivals, and the outcome of each arrival."""
