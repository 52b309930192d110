"""Live evidence for knees: real processes with a known capacity, explored in real time (`make experiments`).

Not collected by pytest but for one short one. What each run gave is written down as it comes, misses included.
"""
