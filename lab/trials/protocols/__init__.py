"""Services of other protocols than HTTP, their knees and their own errors."""
