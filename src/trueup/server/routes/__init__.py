"""Routes of the server, by who asks: analysts, readers, the owner."""
