"""What a service's own log and metrics did where its capacity curve bends. A correlation with the load, never a cause."""
