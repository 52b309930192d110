"""What a person may do beside looking: steer the load, move through a recording, or nothing but watch."""
