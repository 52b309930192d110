"""All timed figures, each with a baseline from the same run. None of them is a test."""
