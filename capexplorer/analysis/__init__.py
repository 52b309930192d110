"""Pure analysis: no clock, no I/O, no screen, no sentences. Each threshold is a named constant with its source."""
