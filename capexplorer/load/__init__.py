"""Load: the only package that imports Locust and gevent."""
