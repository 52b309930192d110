"""Long trials of the whole application, started by hand or by `make`. They take minutes; their results are kept in results/."""
