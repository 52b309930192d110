"""Mutation score: how many small faults in the product the quick tests notice."""
