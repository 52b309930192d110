"""Everything timed. Each figure stands beside a baseline from the same run; none of it is a test."""
