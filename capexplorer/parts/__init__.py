"""Watched parts: the service, its database, its proxy, on this machine or on others. One process of its own reads all of them."""
