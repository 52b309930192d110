"""The bounded sample of whole requests: which are kept, how a client's reply is read, and what is made of it."""
