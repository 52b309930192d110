"""A benchmark of knee finders: the autopilot beside policies of other tools, on services of known capacity (`make knees`)."""
