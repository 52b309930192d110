"""Load from worker processes, by Locust's distributed mode: a MasterRunner in the run's process, a WorkerRunner in each
worker's."""
