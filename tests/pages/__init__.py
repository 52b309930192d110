"""The pages of docs/ that state what the code does are compared with the code."""
