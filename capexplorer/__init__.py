"""capexplorer: explore the capacity of a service by hand, from a terminal."""

__version__ = "0.1.0"
