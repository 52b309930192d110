"""The vocabulary of the app: events, histograms, levels, the timeline, and protocols. Imports no other package of the app."""
