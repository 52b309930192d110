"""One file or folder for each command; its docstring is the command's help. Commands compose packages and hold no logic of
their own."""
