"""A run seen from another process: the messages on its socket, where the socket is, and the side that attaches."""
