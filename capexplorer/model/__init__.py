"""The vocabulary: events, histogram, levels, timeline and the protocols between rooms. Imports no other room."""
