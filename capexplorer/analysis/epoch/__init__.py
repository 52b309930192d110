"""An epoch (one run of a target with one set of parameters): which of its seconds are settled, and which levels can be judged."""
