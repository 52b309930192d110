"""One file for each command; its docstring is the command's help. Commands compose rooms and hold no logic of their own."""
