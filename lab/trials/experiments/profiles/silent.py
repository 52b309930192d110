"""Users that think and send no request."""

from locust import User, between, task


class Silent(User):
    wait_time = between(0.5, 1.5)

    @task
    def think(self) -> None:
        pass
