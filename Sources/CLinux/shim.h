// One-line inline wrappers for calls that Swift cannot make itself: variadic functions, calls without a glibc
// wrapper (or with one that requires _GNU_SOURCE), and macros that take arguments. There is no logic here.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/magic.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

// openat is variadic.
static inline int clinux_openat(int directory, const char *path, int flags, unsigned int mode) {
    return openat(directory, path, flags, mode);
}

// openat2 has no wrapper. 437 is its number on every architecture; the structure is that of linux/openat2.h,
// and its last member is RESOLVE_NO_XDEV.
static inline int clinux_openat_unless_mounted(int directory, const char *path, int flags) {
    unsigned long long how[3] = {(unsigned int)flags, 0, 1};
    return (int)syscall(437, directory, path, how, sizeof how);
}

// fcntl is variadic.
static inline int clinux_fcntl(int descriptor, int command, long argument) {
    return fcntl(descriptor, command, argument);
}

// prctl is variadic.
static inline int clinux_prctl(int option, unsigned long argument) {
    return prctl(option, argument, 0UL, 0UL, 0UL);
}

// renameat2 requires _GNU_SOURCE, which a module map cannot define without changing other modules' types.
static inline int clinux_renameat2(int directory, const char *from, const char *to, unsigned int flags) {
    return (int)syscall(SYS_renameat2, directory, from, directory, to, flags);
}

// memfd_create also requires _GNU_SOURCE.
static inline int clinux_memfd_create(const char *name, unsigned int flags) {
    return (int)syscall(SYS_memfd_create, name, flags);
}

// unshare also requires _GNU_SOURCE.
static inline int clinux_unshare(int flags) { return (int)syscall(SYS_unshare, flags); }

// The headers for mount and for the kernel's file systems cannot be included together.
static inline int clinux_mount(const char *source, const char *target, const char *type, unsigned long flags,
                               const char *data) {
    return (int)syscall(SYS_mount, source, target, type, flags, data);
}

// ioctl is variadic; 0x80086601 is FS_IOC_GETFLAGS.
static inline int clinux_file_flags(int descriptor, long *flags) {
    return ioctl(descriptor, 0x80086601UL, flags);
}

// Macros with shifts and casts.
static inline unsigned int clinux_major(unsigned long device) {
    return (unsigned int)(((device >> 8) & 0xfffUL) | ((device >> 32) & ~0xfffUL));
}
static inline unsigned int clinux_minor(unsigned long device) {
    return (unsigned int)((device & 0xffUL) | ((device >> 12) & ~0xffUL));
}

// glibc has no wrappers for add_key and keyctl; libkeyutils has them, but would be another dependency.
static inline long clinux_add_key(const char *type, const char *description, const void *payload,
                                  unsigned long size, int keyring) {
    return syscall(SYS_add_key, type, description, payload, size, keyring);
}

static inline long clinux_keyctl(int operation, unsigned long a, unsigned long b, unsigned long c,
                                 unsigned long d) {
    return syscall(SYS_keyctl, operation, a, b, c, d);
}

static inline long clinux_keyctl_search(int keyring, const char *type, const char *description) {
    return syscall(SYS_keyctl, KEYCTL_SEARCH, keyring, type, description, 0);
}

static inline long clinux_keyctl_read(long key, void *buffer, unsigned long size) {
    return syscall(SYS_keyctl, KEYCTL_READ, key, buffer, size, 0);
}

static inline long clinux_keyctl_update(long key, const void *payload, unsigned long size) {
    return syscall(SYS_keyctl, KEYCTL_UPDATE, key, payload, size, 0);
}

static inline long clinux_keyctl_describe(long key, void *buffer, unsigned long size) {
    return syscall(SYS_keyctl, KEYCTL_DESCRIBE, key, buffer, size, 0);
}

// errno is a macro.
static inline int clinux_errno(void) { return errno; }

// memmem also requires _GNU_SOURCE; the declaration is glibc's.
extern void *memmem(const void *, unsigned long, const void *, unsigned long);
static inline void *clinux_memmem(const void *haystack, unsigned long count, const void *needle,
                                  unsigned long needle_count) {
    return memmem(haystack, count, needle, needle_count);
}

// pthread_setattr_default_np also requires _GNU_SOURCE; the declaration is glibc's.
extern int pthread_setattr_default_np(const pthread_attr_t *);
static inline void clinux_set_default_stack(unsigned long size) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) return;
    if (pthread_attr_setstacksize(&attributes, size) == 0) pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
}

// posix_spawn_file_actions_addclosefrom_np also requires _GNU_SOURCE. Its first parameter points to a
// posix_spawn_file_actions_t, whose name a module of an app's C code may lack.
extern int clinux_addclosefrom(void *, int) __asm__("posix_spawn_file_actions_addclosefrom_np");
static inline void clinux_close_from(void *actions, int first) { clinux_addclosefrom(actions, first); }

// SIG_DFL is a macro with a cast.
static inline void clinux_default_signal(int number) { signal(number, SIG_DFL); }

// A handler that does nothing: the call that caused the signal fails, and a started program has the default
// action.
static inline void clinux_nothing(int number) { (void)number; }
static inline void clinux_survive_signal(int number) {
    // Not memset: its implicit declaration here breaks Swift's optimizer in every module that uses Data.
    struct sigaction action = {0};
    action.sa_handler = clinux_nothing;
    action.sa_flags = SA_RESTART;
    sigaction(number, &action, NULL);
}

// SIG_IGN is also a macro with a cast.
static inline int clinux_is_ignored(int number) {
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

// SI_KERNEL is a macro with the same name as an enumerator.
static const int clinux_sent_by_kernel = SI_KERNEL;

// glibc declares these only with _GNU_SOURCE; the values are those in linux/fs.h.
static const int clinux_seek_data = 3, clinux_seek_hole = 4;

// c_cc is an array, which Swift sees as a tuple.
static inline void clinux_disable_suspend(struct termios *settings) {
    settings->c_cc[VSUSP] = _POSIX_VDISABLE;
}

// The wait macros take an argument.
static inline int clinux_exit_code(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : -1;
}

// pipe2 requires _GNU_SOURCE.
static inline int clinux_pipe(int *ends) { return (int)syscall(SYS_pipe2, ends, O_CLOEXEC); }

// accept4 requires _GNU_SOURCE; its flags have the values of O_NONBLOCK and O_CLOEXEC.
static inline int clinux_accept(int descriptor) {
    return (int)syscall(SYS_accept4, descriptor, (void *)0, (void *)0, O_NONBLOCK | O_CLOEXEC);
}

// si_pid is a macro that accesses a union member.
static inline void clinux_clear_process(siginfo_t *information) { information->si_pid = 0; }
static inline int clinux_process(const siginfo_t *information) { return information->si_pid; }

// The functions that take more than one line.
#include "spawn.h"
