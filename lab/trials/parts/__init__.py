"""Faults in a service, its database and its proxy: which part is blamed for what, over SSH and with all of them here?"""
