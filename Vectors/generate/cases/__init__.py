"""One module for each family of algorithms; each has `files()`."""
