"""Ten real services whose capacity is known by construction, each explored five times (`make services`)."""
