"""The figures of a session for tools that collect metrics: one table, and what writes it for each of them."""
