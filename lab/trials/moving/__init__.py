"""Real services that change while they are explored, and which marks are right (`make moving`)."""
