"""Windows by distance: whole-number weights, exact answers, and their inverse."""
