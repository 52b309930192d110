"""The drivers, which decide on the number of users: a person, a plan, a shape or the autopilot."""
