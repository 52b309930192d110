"""A benchmark of knee finders: the autopilot compared with policies of other tools, on services of known capacity (`make
knees`)."""
