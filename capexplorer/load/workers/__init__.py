"""Load from worker processes, by Locust's own distributed engine: a MasterRunner here, WorkerRunners there."""
