"""The result of `capexplorer ab`: pairs of blocks of two builds, what they decide, and how that is said and written."""
