"""An epoch (one target, one set of parameters) and its levels: which seconds are settled, which levels can be judged."""
