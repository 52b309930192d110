"""The actions of the explorer screen: steering a live run, moving through a recording, or only watching."""
