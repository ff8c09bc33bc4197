#pragma once

// The arguments of main, stored before main is called. Swift's own CommandLine reads them from /proc, and has
// none if /proc is not mounted.

// Returns the number of arguments, including the program's name.
int carguments_count(void);

// Returns the arguments, terminated by a null pointer; returns null if none were passed.
char *const *carguments_vector(void);

// Returns the path with which the kernel was asked to start the program; null if the kernel does not say. It
// may be a link, or relative to the working directory at the start.
const char *carguments_program(void);
