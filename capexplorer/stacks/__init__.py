"""Samples the stacks of a service's threads from outside, with what each runtime offers to everyone: no agent, no file, and
nothing that has to be undone when this process is killed.
"""
