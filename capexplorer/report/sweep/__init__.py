"""The report of a sweep: a result a setting, what they say together, and their picture. Pure: reads a timeline."""
