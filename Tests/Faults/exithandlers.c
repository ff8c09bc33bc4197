/* Preloaded: says on standard error when OpenSSL registers something to run as the program exits.
 *
 *     cc -shared -fPIC -O2 -o exithandlers.so exithandlers.c
 *     LD_PRELOAD=./exithandlers.so coffer lock
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

typedef int registration(void (*)(void *), void *, void *);

int __cxa_atexit(void (*function)(void *), void *argument, void *object)
{
    static const char message[] = "OpenSSL registered an exit handler\n";
    registration *next = (registration *)dlsym(RTLD_NEXT, "__cxa_atexit");
    Dl_info place;
    if (dladdr((void *)function, &place) != 0 && strstr(place.dli_fname, "libcrypto") != NULL)
        (void)!write(2, message, sizeof message - 1);
    return next(function, argument, object);
}
