"""Tests that compare the pages of docs/, README.md and ARCHITECTURE.md with the code that they describe."""
