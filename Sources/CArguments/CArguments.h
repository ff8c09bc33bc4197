#pragma once

// The arguments of main, stored before main is called. Swift's own CommandLine reads them from /proc, and has
// none if /proc is not mounted.

// Returns the number of arguments, including the program's name.
int carguments_count(void);

// Returns the arguments, terminated by a null pointer; returns null if none were passed.
char *const *carguments_vector(void);
