"""Faults that are injected for real, and the marks that capexplorer makes of them: `make faults`."""
