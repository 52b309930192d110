"""Pure analysis: no clock, no I/O, no screen. Each threshold is a named constant with its source."""
