"""Two sets of implementations: `pure_*`, written here from the standards, and `library`, others'."""
