"""The bounded sample of whole requests: selects requests, copies them from the clients' replies, and parses them."""
