#pragma once

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// Starts a program that the kernel ends when the thread that started it ends. posix_spawn cannot do this, and
// Swift code must not run between fork and exec; the code here is safe after a fork. Returns the child, or -1
// and errno.
static inline int clinux_spawn_bound(const char *program, char *const *arguments, int input, int output) {
    int ends[2];
    if (syscall(SYS_pipe2, ends, O_CLOEXEC) != 0) return -1;
    pid_t parent = getpid();
    pid_t child = fork();
    if (child == 0) {
        sigset_t none;
        sigemptyset(&none);
        if (prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) == 0 && getppid() == parent && dup2(input, 0) == 0
            && dup2(output, 1) == 1 && sigprocmask(SIG_SETMASK, &none, NULL) == 0)
            execvp(program, arguments);
        int number = errno;
        if (write(ends[1], &number, sizeof number) < 0) _exit(126);
        _exit(127);
    }
    int forked = errno, number = 0;
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        errno = forked;
        return -1;
    }
    // Wait until the child runs the program, which closes the pipe, or reports why it cannot.
    long count;
    do count = read(ends[0], &number, sizeof number);
    while (count < 0 && errno == EINTR);
    close(ends[0]);
    if (count <= 0) return child;
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {}
    errno = number;
    return -1;
}

// Returns whether two entries NAME=VALUE set the same variable.
static inline int clinux_is_same_variable(const char *one, const char *other) {
    while (*one != 0 && *one != '=' && *one == *other) one++, other++;
    return *one == *other && (*one == '=' || *one == 0);
}

// Returns the environment `own` with the variables in `added`: entries NAME=VALUE, each followed by a NUL,
// which replace entries with the same names. No entry is copied; the caller frees the vector. Returns NULL if
// there is not enough memory.
static inline char **clinux_environment(char *const *own, const void *added, unsigned long size) {
    const char *entries = added;
    unsigned long count = 1, used = 0, at;
    for (char *const *entry = own; entry && *entry; entry++) count++;
    for (at = 0; at < size; at++) count += entries[at] == 0;
    char **vector = malloc(count * sizeof *vector);
    if (!vector) return NULL;
    for (char *const *entry = own; entry && *entry; entry++) {
        int replaced = 0;
        for (at = 0; at < size; at += strlen(entries + at) + 1)
            if (clinux_is_same_variable(*entry, entries + at)) replaced = 1;
        if (!replaced) vector[used++] = *entry;
    }
    for (at = 0; at < size; at += strlen(entries + at) + 1) vector[used++] = (char *)(entries + at);
    vector[used] = NULL;
    return vector;
}
