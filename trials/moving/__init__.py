"""The moving world: real services that change while they are explored, and what may be marked of them (`make moving`)."""
