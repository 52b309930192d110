"""One file a command; its docstring is the help. Commands compose rooms and hold no logic of their own."""
