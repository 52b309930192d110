"""Long trials of the whole application, by hand or by `make`: what takes minutes, and whose results are kept in results/."""
