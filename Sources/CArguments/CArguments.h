#pragma once

// The arguments that main gets, kept before it is called. Swift's own CommandLine reads them from /proc, and
// has none where that is not mounted.

// How many there are, the program's name included.
int carguments_count(void);

// The arguments, terminated by a null pointer; null if none were passed.
char *const *carguments_vector(void);
