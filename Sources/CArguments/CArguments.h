#pragma once

// The arguments that main gets, kept before it is called. Swift's own CommandLine reads them from /proc, and
// has none where that is not mounted.

// How many there are, the program's name included.
int carguments_count(void);

// The arguments and a null pointer; null when nobody handed them over.
char *const *carguments_vector(void);
