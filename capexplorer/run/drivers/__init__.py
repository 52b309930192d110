"""Who steps the users, and what each of them decides: a person, a plan, a shape or the autopilot."""
