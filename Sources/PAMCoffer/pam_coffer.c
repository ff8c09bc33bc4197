/* Hands the password of a login to `coffer unlock`, which runs as the user who logs in and caches the keys of that
   user's vault if the password is its passcode. SECURITY.md, section 4.17, says what this weakens.

   The module decides nothing about the login: it grants nothing, refuses nothing, and delays it by its deadline at
   most. It keeps the password from the authentication to the session, which begins only after the login was granted.

     auth     optional  pam_coffer.so
     session  optional  pam_coffer.so [seconds=5] [program=/usr/bin/coffer] */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include <security/pam_ext.h>
#include <security/pam_modules.h>
#include <security/pam_modutil.h>

#define EXPORTED __attribute__((visibility("default")))
#define DATA "coffer_password"
enum { absent = 12, late = 124, refused = 125, default_seconds = 5, most_seconds = 60, path_size = 4096 };

/* The password and whose it is, in pages that are neither swapped nor dumped, and empty in child processes. */
struct held {
    char user[256];
    char password[512];
};

/* What the child processes need. They allocate nothing, because other threads may have held the allocator's lock. */
struct job {
    uid_t uid;
    gid_t gid;
    char home[path_size], vault[path_size + 32], runtime[64], bus[96];
    char variables[6][path_size + 32];
    char program[path_size];
    int seconds;
};

static void drop(pam_handle_t *pamh, void *data, int status) {
    (void)pamh, (void)status;
    if (data == NULL) return;
    explicit_bzero(data, sizeof(struct held));
    munmap(data, sizeof(struct held));
}

/* `coffer unlock` reads one line, and drops a carriage return at its end: other passwords could count as wrong. */
static int is_suitable(const char *user, const char *password) {
    size_t size = strnlen(password, sizeof((struct held *)0)->password);
    return size > 0 && size < sizeof((struct held *)0)->password && strpbrk(password, "\r\n") == NULL
        && user[0] != '\0' && strlen(user) < sizeof((struct held *)0)->user;
}

static void hold(pam_handle_t *pamh) {
    const void *user = NULL, *password = NULL;
    pam_set_data(pamh, DATA, NULL, NULL);
    if (pam_get_item(pamh, PAM_USER, &user) != PAM_SUCCESS || user == NULL) return;
    if (pam_get_item(pamh, PAM_AUTHTOK, &password) != PAM_SUCCESS || password == NULL) return;
    if (!is_suitable(user, password)) return;
    struct held *held = mmap(
        NULL, sizeof *held, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (held == MAP_FAILED) return;
    (void)mlock(held, sizeof *held);
    (void)madvise(held, sizeof *held, MADV_DONTDUMP);
    (void)madvise(held, sizeof *held, MADV_WIPEONFORK);
    strcpy(held->user, user);
    strcpy(held->password, password);
    if (pam_set_data(pamh, DATA, held, drop) != PAM_SUCCESS) drop(pamh, held, 0);
}

static int owned(const char *path, uid_t uid, mode_t kind) {
    struct stat file;
    return lstat(path, &file) == 0 && file.st_uid == uid && (file.st_mode & S_IFMT) == kind
        && (kind == S_IFSOCK || (file.st_mode & 022) == 0);
}

/* In the second child process: becomes the user for good and starts the command. */
static _Noreturn void start(const struct job *job, int input) {
    struct sigaction plain = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++) sigaction(number, &plain, NULL);
    setsid();
    if (geteuid() == 0 && setgroups(1, &job->gid) != 0) _exit(refused);
    if (setresgid(job->gid, job->gid, job->gid) != 0) _exit(refused);
    if (setresuid(job->uid, job->uid, job->uid) != 0) _exit(refused);
    if (job->uid != 0 && (setresuid(-1, 0, -1) == 0 || geteuid() != job->uid)) _exit(refused);
    /* Only now, because a change of the user takes it back. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    umask(077);
    if (chdir("/") != 0 || access(job->vault, F_OK) != 0) _exit(absent);
    if (!owned(job->home, job->uid, S_IFDIR)) _exit(refused);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0 && null < 3) null = fcntl(null, F_DUPFD_CLOEXEC, 3);
    if (null < 0 || dup2(input, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0) _exit(refused);
    if (close_range(3, ~0U, 0) != 0) _exit(refused);
    char *arguments[] = {"coffer", "unlock", "--from-login", "--passcode-fd", "0", NULL};
    char *variables[7] = {NULL};
    int count = 4;
    for (int i = 0; i < count; i++) variables[i] = (char *)job->variables[i];
    if (owned(job->runtime, job->uid, S_IFDIR)) {
        variables[count++] = (char *)job->variables[4];
        if (owned(job->bus, job->uid, S_IFSOCK)) variables[count++] = (char *)job->variables[5];
    }
    sigset_t empty;
    sigemptyset(&empty);
    sigprocmask(SIG_SETMASK, &empty, NULL);
    execve(job->program, arguments, variables);
    _exit(refused);
}

/* Waits until the child process has ended, for so many milliseconds; returns its code, or -1. A signal's is 128 and
   more. It polls, because the program that uses PAM may reap the child itself. */
static int ended(pid_t child, long milliseconds) {
    struct timespec now, end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += milliseconds / 1000;
    end.tv_nsec += milliseconds % 1000 * 1000000;
    for (;;) {
        int status = 0;
        pid_t done = waitpid(child, &status, WNOHANG);
        if (done == child) return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        if (done < 0 && errno != EINTR) return 0;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec > end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec >= end.tv_nsec)) return -1;
        poll(NULL, 0, 10);
    }
}

/* In the first child process, which ends without a signal: starts the second, waits for it, and kills it and what it
   started when its time is over. */
static _Noreturn void watch(const struct job *job, int input) {
    pid_t child = _Fork();
    if (child == 0) start(job, input);
    if (child < 0) _exit(refused);
    (void)close_range(0, ~0U, 0);
    int code = ended(child, job->seconds * 1000L);
    if (code != -1) _exit(code);
    kill(-child, SIGKILL);
    kill(child, SIGKILL);
    _exit(late);
}

/* Starts the command and waits for it, within its time. Only the second child process touches the user's files. On a
   disk that does not answer, it ends long after it was killed, and login would take the end of any child of its own
   for the end of the session. */
static int run(const struct job *job, int input) {
    struct sigaction plain = {.sa_handler = SIG_DFL}, old;
    sigset_t all, before;
    sigfillset(&all);
    if (sigaction(SIGCHLD, &plain, &old) != 0) return refused;
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t child = fork();
    if (child == 0) watch(job, input);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    int code = refused;
    if (child > 0 && (code = ended(child, job->seconds * 1000L + 1000)) == -1) {
        kill(child, SIGKILL);
        ended(child, 300);
        code = late;
    }
    sigaction(SIGCHLD, &old, NULL);
    return code;
}

/* Returns the reading end of a pipe that holds the password as one line, or -1. */
static int password_pipe(const struct held *held) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return -1;
    char line[sizeof held->password + 1];
    size_t size = strlen(held->password);
    memcpy(line, held->password, size);
    line[size++] = '\n';
    /* A pipe holds a page at least, so this neither blocks nor is cut. */
    int isWhole = write(ends[1], line, size) == (ssize_t)size;
    explicit_bzero(line, sizeof line);
    close(ends[1]);
    /* Not one of the three descriptors that the child replaces. */
    int input = isWhole ? fcntl(ends[0], F_DUPFD_CLOEXEC, 3) : -1;
    if (input >= 0) (void)fcntl(input, F_SETFL, 0);
    close(ends[0]);
    return input;
}

static int prepare(struct job *job, const struct passwd *user, int argc, const char **argv) {
    const char *program = "/usr/bin/coffer";
    job->seconds = default_seconds;
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "program=", 8) == 0) program = argv[i] + 8;
        if (strncmp(argv[i], "seconds=", 8) == 0) job->seconds = atoi(argv[i] + 8);
    }
    if (job->seconds < 1 || job->seconds > most_seconds) job->seconds = default_seconds;
    job->uid = user->pw_uid;
    job->gid = user->pw_gid;
    /* Root's login starts a program of root's; a screen locker, which runs as the user, also one of the user's. */
    struct stat file;
    if (program[0] != '/' || strlen(program) >= path_size || stat(program, &file) != 0) return -1;
    if (!S_ISREG(file.st_mode) || (file.st_mode & 022) != 0) return -1;
    if (file.st_uid != 0 && file.st_uid != geteuid()) return -1;
    if (geteuid() != 0 && (geteuid() != job->uid || getegid() != job->gid)) return -1;
    if (user->pw_dir[0] != '/' || strlen(user->pw_dir) >= path_size - 32) return -1;
    strcpy(job->program, program);
    strcpy(job->home, user->pw_dir);
    unsigned number = job->uid;
    snprintf(job->vault, sizeof job->vault, "%s/.local/share/coffer", job->home);
    snprintf(job->runtime, sizeof job->runtime, "/run/user/%u", number);
    snprintf(job->bus, sizeof job->bus, "/run/user/%u/bus", number);
    size_t size = sizeof job->variables[0];
    snprintf(job->variables[0], size, "HOME=%s", job->home);
    snprintf(job->variables[1], size, "USER=%s", user->pw_name);
    snprintf(job->variables[2], size, "LOGNAME=%s", user->pw_name);
    snprintf(job->variables[3], size, "PATH=/usr/bin:/bin");
    snprintf(job->variables[4], size, "XDG_RUNTIME_DIR=%s", job->runtime);
    snprintf(job->variables[5], size, "DBUS_SESSION_BUS_ADDRESS=unix:path=%s", job->bus);
    return 0;
}

/* Hands the password over, once, and only to the user whose it is: sudo begins the session of another. */
static void hand_over(pam_handle_t *pamh, int argc, const char **argv) {
    const void *data = NULL, *user = NULL;
    if (pam_get_data(pamh, DATA, &data) != PAM_SUCCESS || data == NULL) return;
    const struct held *held = data;
    if (pam_get_item(pamh, PAM_USER, &user) == PAM_SUCCESS && user != NULL && strcmp(user, held->user) == 0) {
        const struct passwd *entry = pam_modutil_getpwnam(pamh, user);
        struct job *job = calloc(1, sizeof *job);
        int input = -1, code = refused;
        if (job != NULL && entry != NULL && prepare(job, entry, argc, argv) == 0) input = password_pipe(held);
        if (input >= 0) {
            code = run(job, input);
            close(input);
        }
        free(job);
        if (code == late) pam_syslog(pamh, LOG_NOTICE, "coffer unlock took too long and was ended");
        else if (code == refused) pam_syslog(pamh, LOG_NOTICE, "coffer unlock could not be started");
        else if (code != 0 && code != absent) pam_syslog(pamh, LOG_NOTICE, "coffer unlock ended with %d", code);
    }
    pam_set_data(pamh, DATA, NULL, NULL);
}

/* Never PAM_SUCCESS, which could grant a login in a stack that is set up wrongly. */
EXPORTED int pam_sm_authenticate(pam_handle_t *pamh, int flags, int argc, const char **argv) {
    (void)flags, (void)argc, (void)argv;
    hold(pamh);
    return PAM_IGNORE;
}

/* Screen lockers begin no session: after the password was right, they refresh the credentials. */
EXPORTED int pam_sm_setcred(pam_handle_t *pamh, int flags, int argc, const char **argv) {
    if ((flags & (PAM_REINITIALIZE_CRED | PAM_REFRESH_CRED)) != 0) hand_over(pamh, argc, argv);
    return PAM_IGNORE;
}

EXPORTED int pam_sm_open_session(pam_handle_t *pamh, int flags, int argc, const char **argv) {
    (void)flags;
    hand_over(pamh, argc, argv);
    return PAM_SUCCESS;
}

EXPORTED int pam_sm_close_session(pam_handle_t *pamh, int flags, int argc, const char **argv) {
    (void)pamh, (void)flags, (void)argc, (void)argv;
    return PAM_SUCCESS;
}

/* A new login password leaves the passcode as it is. */
EXPORTED int pam_sm_chauthtok(pam_handle_t *pamh, int flags, int argc, const char **argv) {
    (void)pamh, (void)flags, (void)argc, (void)argv;
    return PAM_IGNORE;
}
