"""A/A trials of `compare`: pairs of runs of one service, in which every claim is false; and pairs with a true change."""
