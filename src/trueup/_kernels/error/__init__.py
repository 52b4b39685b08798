"""Expected squared errors before anything is asked, and the trees that make them least."""
