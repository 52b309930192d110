"""Ground truth for knees: closed queues simulated and solved exactly. Neither calls the other."""
