"""Load control: the only room that may import Locust and gevent (all but `plan` and `autopilot`)."""
