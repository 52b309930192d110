"""What load to request next: plans, searches for the knee or the capacity, the requested load. Neither Locust nor gevent."""
