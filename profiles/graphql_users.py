"""Users of a GraphQL service: a name for each operation, and a reply with `errors` is a failure, although its status is 200."""

from locust import constant, task

from capexplorer.users import LeanHttpUser


class GraphqlUser(LeanHttpUser):
    wait_time = constant(0.4)

    def ask(self, operation: str, query: str, **variables: object) -> None:
        body = {"operationName": operation, "query": query, "variables": variables}
        with self.client.post("/graphql", json=body, name=operation, catch_response=True) as reply:
            if reply.status_code == 200 and (errors := reply.json().get("errors")):
                code = errors[0].get("extensions", {}).get("code")
                reply.failure(f"GraphQL {code}: {errors[0]['message']}" if code else f"errors: {errors[0]['message']}")

    @task(3)
    def order(self) -> None:
        self.ask("Order", "query Order($id: ID!) { order(id: $id) { id } }", id="7")

    @task
    def orders(self) -> None:
        self.ask("Orders", "query Orders { orders { id } }")
