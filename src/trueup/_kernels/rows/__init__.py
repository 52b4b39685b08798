"""From counts to rows."""
