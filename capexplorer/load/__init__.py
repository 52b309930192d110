"""Load control: the only package that imports Locust and gevent. Its modules on plans and on the autopilot are pure and import
neither."""
