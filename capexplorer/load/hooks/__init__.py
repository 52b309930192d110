"""What capexplorer replaces in Locust, its clients, gevent and Python, all of it listed in `hook_table.py`."""
