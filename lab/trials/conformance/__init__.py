"""Examples of Locust's documentation in plain Locust and in capexplorer, side by side."""
