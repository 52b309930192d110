"""Questions and forms over a screen: each asks one thing and returns the answer; none knows the screen below."""
