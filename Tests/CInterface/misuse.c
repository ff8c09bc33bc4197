/* What a careless or hostile caller does. Argument: a directory that does not exist yet. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

/* More than the library has threads. */
enum { PIPES = 300 };

/* Seconds for a thread's turn: under valgrind on a busy machine, 32 threads take minutes. */
enum { LONGEST = 600 };

static const char *home;

static void nulls_and_lengths(coffer_vault *vault) {
    coffer_bytes *bytes = NULL;
    coffer_vault *other = NULL;
    coffer_create_options create;
    coffer_token_options put;
    char id[37];
    size_t count;
    int answer;
    static char longest[70001];
    memset(longest, 'x', 70000);

    EXPECT(COFFER_INVALID_INPUT, coffer_open(home, NULL, NULL, &error));
    EXPECT(COFFER_INVALID_INPUT, coffer_open("", NULL, &other, &error));
    EXPECT(COFFER_INVALID_INPUT, coffer_open(longest, NULL, &other, &error));
    EXPECT(COFFER_INVALID_INPUT, coffer_open(home, "\xFF", &other, &error));
    EXPECT(COFFER_INVALID_INPUT, coffer_is_unlocked(vault, NULL, &error));
    EXPECT(COFFER_INVALID_INPUT, coffer_set_timeout(vault, 0, &error));
    EXPECT(COFFER_INVALID_INPUT, coffer_unlock(vault, NULL, 1, &error));
    EXPECT(COFFER_INVALID_INPUT, coffer_unlock(vault, bytes_of("x"), SIZE_MAX, &error));
    EXPECT(COFFER_INVALID_INPUT, coffer_unlock(vault, bytes_of(""), 0, &error));
    EXPECT(COFFER_INVALID_INPUT, coffer_unlock_fd(vault, 1000, &error));
    EXPECT(COFFER_INVALID_INPUT, coffer_token_get(vault, NULL, "a", NULL, &bytes, &error));
    EXPECT(COFFER_INVALID_INPUT, coffer_token_get(vault, "", "a", NULL, &bytes, &error));
    EXPECT(COFFER_INVALID_INPUT, coffer_token_get(vault, "s", NULL, NULL, &bytes, &error));
    EXPECT(COFFER_INVALID_INPUT, coffer_token_get(vault, "s", "a", "Access", &bytes, &error));
    EXPECT(COFFER_INVALID_INPUT, coffer_token_get(vault, "s\xC3", "a", NULL, &bytes, &error));
    EXPECT(COFFER_INVALID_INPUT, coffer_token_get(vault, "s", "a", NULL, NULL, &error));
    EXPECT(COFFER_INVALID_INPUT, coffer_token_put(vault, "s", "a", NULL, NULL, 1, NULL, NULL, &error));
    EXPECT(COFFER_INVALID_INPUT,
           coffer_token_put(vault, "s", "a", NULL, bytes_of("x"), (size_t)1 << 63, NULL, NULL, &error));
    EXPECT(COFFER_INVALID_INPUT,
           coffer_token_put(vault, "s", "a", NULL, bytes_of("x"), ((size_t)1 << 20) + 1, NULL, NULL, &error));
    EXPECT(COFFER_INVALID_INPUT, coffer_file_add(vault, "a/b", bytes_of("x"), 1, id, &error));
    EXPECT(COFFER_INVALID_INPUT, coffer_file_add(vault, "..", bytes_of("x"), 1, id, &error));
    EXPECT(COFFER_INVALID_INPUT, coffer_file_add(vault, "a", NULL, 1, id, &error));
    EXPECT(COFFER_INVALID_INPUT, coffer_file_add(vault, "a", bytes_of("x"), 1, NULL, &error));
    EXPECT(COFFER_FAILED, coffer_file_add(vault, "a", bytes_of("x"), ((size_t)1 << 62) - 1, id, &error));
    EXPECT(COFFER_INVALID_INPUT, coffer_file_read_at(vault, "no id", 0, NULL, 0, &count, &error));
    EXPECT(COFFER_INVALID_INPUT, coffer_file_read_at(vault, "no id", 0, NULL, 1, &count, &error));

    memset(&create, 0, sizeof create);
    EXPECT(COFFER_INVALID_INPUT, coffer_create("/nowhere", NULL, NULL, 0, &create, &other, &error));
    create.size = sizeof create;
    create.flags = 0x80000000u;
    EXPECT(COFFER_INVALID_INPUT, coffer_create("/nowhere", NULL, NULL, 0, &create, &other, &error));
    create.flags = 0;
    create.kdf_passes = 4000000000u;
    EXPECT(COFFER_REFUSED, coffer_create("/nowhere", NULL, NULL, 0, &create, &other, &error));
    memset(&put, 0, sizeof put);
    put.size = sizeof put;
    put.flags = COFFER_TOKEN_IF_ABSENT | COFFER_TOKEN_IF_VERSION;
    EXPECT(COFFER_INVALID_INPUT, coffer_token_put(vault, "s", "a", NULL, NULL, 0, &put, NULL, &error));
    put.flags = 0;
    put.expires = -1;
    EXPECT(COFFER_INVALID_INPUT, coffer_token_put(vault, "s", "a", NULL, NULL, 0, &put, NULL, &error));
    put.expires = 0;
    put.protection_class = "whenunlocked";
    EXPECT(COFFER_INVALID_INPUT, coffer_token_put(vault, "s", "a", NULL, NULL, 0, &put, NULL, &error));
    EXPECT(COFFER_OK, coffer_is_unlocked(vault, &answer, &error));
    CHECK(answer == 1);
}

static void handles(coffer_vault *vault) {
    coffer_vault *second = NULL, *third = NULL;
    coffer_bytes *bytes = NULL;
    int local = 0, answer;
    EXPECT(COFFER_OK, coffer_open(home, NULL, &second, &error));
    CHECK(coffer_close(second) == COFFER_OK);
    CHECK(coffer_close(second) == COFFER_INVALID_INPUT);
    EXPECT(COFFER_INVALID_INPUT, coffer_lock(second, &error));
    EXPECT(COFFER_OK, coffer_open(home, NULL, &third, &error));
    CHECK(third != second);
    CHECK(coffer_close(third) == COFFER_OK);
    EXPECT(COFFER_INVALID_INPUT, coffer_lock(NULL, &error));
    EXPECT(COFFER_INVALID_INPUT, coffer_lock((coffer_vault *)&local, &error));

    EXPECT(COFFER_OK, coffer_token_list(vault, &bytes, &error));
    EXPECT(COFFER_INVALID_INPUT, coffer_is_unlocked((coffer_vault *)bytes, &answer, &error));
    CHECK(coffer_bytes_data((coffer_bytes *)vault) == NULL);
    coffer_bytes_free((coffer_bytes *)vault);
    EXPECT(COFFER_OK, coffer_is_unlocked(vault, &answer, &error));
    coffer_bytes_free(bytes);
    coffer_bytes_free(bytes);
    coffer_bytes_free(NULL);
    CHECK(coffer_bytes_data(bytes) == NULL && coffer_bytes_length(bytes) == 0);
    EXPECT(COFFER_INVALID_INPUT, coffer_refresh_abandon((coffer_refresh *)vault, &error));
}

/* A caller that was compiled with a smaller or larger structure. */
static void sizes(void) {
    struct { coffer_error error; char after[16]; } place;
    memset(&place, 0x5A, sizeof place);
    place.error.size = offsetof(coffer_error, name);
    CHECK(coffer_lock(NULL, &place.error) == COFFER_INVALID_INPUT);
    CHECK(place.error.code == COFFER_INVALID_INPUT && place.error.name[0] == 0x5A);
    place.error.size = sizeof place;
    CHECK(coffer_lock(NULL, &place.error) == COFFER_INVALID_INPUT);
    CHECK(strcmp(place.error.name, "invalidInput") == 0 && place.after[0] == 0x5A);
    place.error.size = 0;
    place.error.code = 77;
    CHECK(coffer_lock(NULL, &place.error) == COFFER_INVALID_INPUT && place.error.code == 77);
}

static coffer_vault *shared;

/* The vault's file is changed by one thread at a time; the others wait for a limited time, and try again. */
static int put_in_turn(const char *account, coffer_error *error) {
    const time_t end = time(NULL) + LONGEST;
    int result;
    do {
        result = coffer_token_put(shared, "threads", account, NULL, bytes_of(account), strlen(account), NULL,
                                  NULL, error);
    } while (result == COFFER_BUSY && time(NULL) < end);
    return result;
}

static void *worker(void *argument) {
    char account[16];
    int number = (int)(intptr_t)argument, round;
    snprintf(account, sizeof account, "%d", number);
    for (round = 0; round < 4; round++) {
        coffer_bytes *token = NULL;
        EXPECT(COFFER_OK, put_in_turn(account, &error));
        EXPECT(COFFER_OK, coffer_token_get(shared, "threads", account, NULL, &token, &error));
        CHECK(is_text(token, account));
        coffer_bytes_free(token);
    }
    return NULL;
}

static void threads(void) {
    pthread_t all[32];
    intptr_t number;
    for (number = 0; number < 32; number++)
        CHECK(pthread_create(&all[number], NULL, worker, (void *)number) == 0);
    for (number = 0; number < 32; number++) CHECK(pthread_join(all[number], NULL) == 0);
}

static void forks(coffer_vault *vault) {
    int status = 0;
    pid_t child;
    coffer_bytes *bytes = NULL;
    EXPECT(COFFER_OK, coffer_token_list(vault, &bytes, &error));
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        coffer_bytes *token = NULL;
        EXPECT(COFFER_FORKED, coffer_token_get(vault, "threads", "1", NULL, &token, &error));
        EXPECT(COFFER_FORKED, coffer_lock(vault, &error));
        CHECK(coffer_abi_version() == COFFER_ABI_VERSION);
        CHECK(coffer_bytes_data(bytes) == NULL && coffer_bytes_length(bytes) == 0);
        coffer_bytes_free(bytes);
        _exit(coffer_close(vault) == COFFER_FORKED ? 0 : 2);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(coffer_bytes_data(bytes) != NULL);
    coffer_bytes_free(bytes);
}

/* Each of these calls ends with its descriptor closed, and leaves no thread that other calls would lack. */
static void silent_pipes(coffer_vault *vault) {
    int silent[PIPES][2];
    int index;
    EXPECT(COFFER_OK, coffer_set_timeout(NULL, 1, &error));
    for (index = 0; index < PIPES; index++) {
        CHECK(pipe(silent[index]) == 0);
        /* A line without an end is no passcode either. */
        CHECK(write(silent[index][1], "one", 3) == 3);
        EXPECT(COFFER_TIMED_OUT, coffer_unlock_fd(vault, silent[index][0], &error));
        CHECK(fcntl(silent[index][0], F_GETFD) == -1);
    }
    EXPECT(COFFER_OK, coffer_token_put(vault, "s", "pipes", NULL, bytes_of("x"), 1, NULL, NULL, &error));
    for (index = 0; index < PIPES; index++) CHECK(close(silent[index][1]) == 0);
}

/* A pipe that nobody writes to does not hold a call for longer than its deadline. */
static void deadlines(coffer_vault *vault) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    EXPECT(COFFER_OK, coffer_set_timeout(NULL, 50, &error));
    EXPECT(COFFER_TIMED_OUT, coffer_unlock_fd(vault, ends[0], &error));
    CHECK(close(ends[1]) == 0);
    silent_pipes(vault);
    EXPECT(COFFER_OK, coffer_set_timeout(NULL, 60000, &error));
    EXPECT(COFFER_OK, coffer_cancel(vault, &error));
}

int main(int argc, char **argv) {
    coffer_bytes *token = NULL;
    CHECK(argc == 2);
    home = argv[1];
    shared = create_vault(home, "one", COFFER_CREATE_NEVER_ERASE | COFFER_CREATE_MOVABLE);
    nulls_and_lengths(shared);
    handles(shared);
    sizes();
    threads();
    forks(shared);
    deadlines(shared);
    /* Nothing of it has hurt the vault. */
    EXPECT(COFFER_OK, coffer_token_get(shared, "threads", "31", NULL, &token, &error));
    CHECK(is_text(token, "31"));
    coffer_bytes_free(token);
    CHECK(coffer_close(shared) == COFFER_OK);
    puts("ok");
    return 0;
}
