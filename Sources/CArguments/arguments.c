#include "CArguments.h"

#include <sys/auxv.h>

static int count;
static char **vector;

static void keep(int argc, char **argv, char **environment) {
    (void)environment;
    count = argc;
    vector = argv;
}

// The C library calls the functions in this section before main, with main's arguments.
__attribute__((section(".init_array"), used)) static void (*entry)(int, char **, char **) = keep;

int carguments_count(void) { return count; }

char *const *carguments_vector(void) { return vector; }

const char *carguments_program(void) { return (const char *)getauxval(AT_EXECFN); }
