/* Every function of coffer.h, used as it is meant. Argument: a directory that does not exist yet. */
#include <unistd.h>

#include "check.h"

static void versions(void) {
    coffer_bytes *json = NULL;
    CHECK(coffer_abi_version() == COFFER_ABI_VERSION);
    CHECK(strlen(coffer_version()) > 0);
    EXPECT(COFFER_OK, coffer_info(&json, &error));
    CHECK(has_text(json, "\"abiVersion\":1") && has_text(json, coffer_version()));
    coffer_bytes_free(json);
}

static void lifecycle(const char *home) {
    coffer_vault *vault = NULL, *second = NULL;
    coffer_bytes *json = NULL;
    int answer = -1, ends[2];

    EXPECT(COFFER_NOT_INITIALISED, coffer_open(home, NULL, &vault, &error));
    CHECK(vault == NULL);
    vault = create_vault(home, "one", 0);
    EXPECT(COFFER_OK, coffer_is_unlocked(vault, &answer, &error));
    CHECK(answer == 1);
    EXPECT(COFFER_OK, coffer_lock(vault, &error));
    EXPECT(COFFER_OK, coffer_is_unlocked(vault, &answer, &error));
    CHECK(answer == 0);

    coffer_error error = COFFER_ERROR_INIT;
    CHECK(coffer_unlock(vault, bytes_of("two"), 3, &error) == COFFER_WRONG_PASSCODE);
    CHECK(error.attempts_left == 9 && strcmp(error.name, "wrongPasscode") == 0 && error.message[0]);
    CHECK(coffer_unlock(vault, bytes_of("one"), 3, NULL) == COFFER_OK);

    EXPECT(COFFER_OK, coffer_change_passcode(vault, bytes_of("one"), 3, bytes_of("t\0o"), 3, &error));
    EXPECT(COFFER_OK, coffer_open(home, NULL, &second, &error));
    EXPECT(COFFER_LOCKED, coffer_unlock(second, NULL, 0, &error));
    CHECK(pipe(ends) == 0 && write(ends[1], "t\0o\nmore", 8) == 8 && close(ends[1]) == 0);
    EXPECT(COFFER_OK, coffer_unlock_fd(second, ends[0], &error));
    EXPECT(COFFER_OK, coffer_status(home, NULL, &json, &error));
    CHECK(has_text(json, "\"hasPasscode\":true") && has_text(json, "\"state\":"));
    coffer_bytes_free(json);

    EXPECT(COFFER_OK, coffer_lock_at(home, NULL, &error));
    EXPECT(COFFER_NOT_INITIALISED, coffer_open(home, "ada", &second, &error));
    CHECK(coffer_close(vault) == COFFER_OK);
}

static void tokens(coffer_vault *vault) {
    coffer_token_options options;
    coffer_bytes *token = NULL, *json = NULL;
    uint64_t version = 0;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.protection_class = "whenUnlocked";
    options.expires = 2000000000.5;
    options.scopes = "read write";
    options.label = "Ada's";
    options.flags = COFFER_TOKEN_IF_ABSENT;

    EXPECT(COFFER_ABSENT, coffer_token_get(vault, "s", "a", NULL, &token, &error));
    CHECK(token == NULL);
    EXPECT(COFFER_OK, coffer_token_put(vault, "s", "a", NULL, bytes_of("x\0y"), 3, &options, &version, &error));
    CHECK(version == 1);
    EXPECT(COFFER_CONFLICT,
           coffer_token_put(vault, "s", "a", NULL, bytes_of("z"), 1, &options, &version, &error));
    options.flags = COFFER_TOKEN_IF_VERSION;
    options.version = 1;
    options.scopes = options.label = NULL;
    EXPECT(COFFER_OK, coffer_token_put(vault, "s", "a", NULL, bytes_of("z"), 1, &options, &version, &error));
    CHECK(version == 2);
    EXPECT(COFFER_OK, coffer_token_get(vault, "s", "a", "access", &token, &error));
    CHECK(is_text(token, "z") && coffer_bytes_data(token)[1] == 0);
    coffer_bytes_free(token);
    EXPECT(COFFER_OK, coffer_token_info(vault, "s", "a", NULL, &json, &error));
    CHECK(has_text(json, "\"class\":\"whenUnlocked\"") && has_text(json, "\"scopes\":[\"read\",\"write\"]"));
    CHECK(has_text(json, "\"expires\":2000000000.5") && has_text(json, "\"label\":\"Ada's\""));
    coffer_bytes_free(json);

    /* An empty token is a token, and so is one of other kinds. */
    EXPECT(COFFER_OK, coffer_token_put(vault, "s", "", "other", NULL, 0, NULL, NULL, &error));
    EXPECT(COFFER_OK, coffer_token_get(vault, "s", "", "other", &token, &error));
    CHECK(coffer_bytes_length(token) == 0 && coffer_bytes_data(token) != NULL);
    coffer_bytes_free(token);
    EXPECT(COFFER_OK, coffer_token_list(vault, &json, &error));
    CHECK(has_text(json, "\"kind\":\"access\"") && has_text(json, "\"kind\":\"other\""));
    coffer_bytes_free(json);
    EXPECT(COFFER_OK, coffer_token_remove(vault, "s", "", "other", &error));
    EXPECT(COFFER_ABSENT, coffer_token_remove(vault, "s", "", "other", &error));
}

static void refreshes(coffer_vault *vault) {
    coffer_refresh *refresh = NULL;
    coffer_bytes *token = NULL;

    EXPECT(COFFER_ABSENT,
           coffer_refresh_begin(vault, "none", "a", NULL, 5000, &refresh, &token, &error));
    CHECK(refresh == NULL && token == NULL);
    EXPECT(COFFER_OK, coffer_refresh_begin(vault, "s", "a", NULL, 30000, &refresh, &token, &error));
    CHECK(refresh != NULL && is_text(token, "z"));
    coffer_bytes_free(token);
    EXPECT(COFFER_OK, coffer_refresh_commit(refresh, bytes_of("new"), 3, 0, &error));
    EXPECT(COFFER_INVALID_INPUT, coffer_refresh_commit(refresh, bytes_of("new"), 3, 0, &error));
    EXPECT(COFFER_OK, coffer_token_get(vault, "s", "a", NULL, &token, &error));
    CHECK(is_text(token, "new"));
    coffer_bytes_free(token);

    EXPECT(COFFER_OK, coffer_refresh_begin(vault, "s", "a", NULL, 30000, &refresh, &token, &error));
    coffer_bytes_free(token);
    EXPECT(COFFER_OK, coffer_refresh_abandon(refresh, &error));
    EXPECT(COFFER_OK, coffer_token_get(vault, "s", "a", NULL, &token, &error));
    CHECK(is_text(token, "new"));
    coffer_bytes_free(token);

    /* A renewal that its deadline ended stores nothing. */
    EXPECT(COFFER_OK, coffer_refresh_begin(vault, "s", "a", NULL, 1, &refresh, &token, &error));
    coffer_bytes_free(token);
    CHECK(coffer_refresh_commit(refresh, bytes_of("late"), 4, 0, NULL) != COFFER_INVALID_INPUT);

    EXPECT(COFFER_OK, coffer_refresh_begin(vault, "s", "a", NULL, 30000, &refresh, &token, &error));
    coffer_bytes_free(token);
    EXPECT(COFFER_OK, coffer_refresh_revoked(refresh, &error));
    EXPECT(COFFER_ABSENT, coffer_token_get(vault, "s", "a", NULL, &token, &error));
}

static void files(coffer_vault *vault, const char *path) {
    char id[37], other[37];
    uint8_t buffer[200001];
    static uint8_t content[200000];
    coffer_bytes *json = NULL;
    size_t count = 0, index;
    for (index = 0; index < sizeof content; index++) content[index] = (uint8_t)(index * 31);

    EXPECT(COFFER_OK, coffer_file_add(vault, "a.bin", content, sizeof content, id, &error));
    CHECK(strlen(id) == 36);
    EXPECT(COFFER_OK, coffer_file_read_at(vault, id, 0, buffer, sizeof buffer, &count, &error));
    CHECK(count == sizeof content && memcmp(buffer, content, count) == 0);
    EXPECT(COFFER_OK, coffer_file_read_at(vault, id, 199990, buffer, 100, &count, &error));
    CHECK(count == 10 && memcmp(buffer, content + 199990, 10) == 0);
    EXPECT(COFFER_OK, coffer_file_read_at(vault, id, UINT64_MAX, buffer, 100, &count, &error));
    CHECK(count == 0);
    EXPECT(COFFER_OK, coffer_file_rename(vault, id, "b.bin", &error));
    EXPECT(COFFER_OK, coffer_file_add_path(vault, path, other, &error));
    EXPECT(COFFER_OK, coffer_file_list(vault, &json, &error));
    CHECK(has_text(json, "\"name\":\"b.bin\"") && has_text(json, "\"length\":200000") && has_text(json, id));
    coffer_bytes_free(json);
    EXPECT(COFFER_OK, coffer_file_remove(vault, id, &error));
    EXPECT(COFFER_ABSENT, coffer_file_remove(vault, id, &error));
    EXPECT(COFFER_OK, coffer_token_put(vault, "kept", "a", NULL, bytes_of("v"), 1, NULL, NULL, &error));
    EXPECT(COFFER_OK, coffer_lock(vault, &error));
    EXPECT(COFFER_LOCKED, coffer_token_get(vault, "kept", "a", NULL, &json, &error));
    CHECK(json == NULL);
    EXPECT(COFFER_LOCKED, coffer_file_read_at(vault, other, 0, buffer, 10, &count, &error));
}

int main(int argc, char **argv) {
    coffer_vault *vault = NULL;
    coffer_bytes *receipt = NULL;
    CHECK(argc == 2);
    versions();
    lifecycle(argv[1]);
    EXPECT(COFFER_OK, coffer_open(argv[1], NULL, &vault, &error));
    EXPECT(COFFER_OK, coffer_unlock(vault, bytes_of("t\0o"), 3, &error));
    tokens(vault);
    refreshes(vault);
    files(vault, argv[0]);
    EXPECT(COFFER_OK, coffer_wipe(argv[1], NULL, &receipt, &error));
    CHECK(has_text(receipt, "\"failures\":[]"));
    coffer_bytes_free(receipt);
    EXPECT(COFFER_WIPED, coffer_unlock(vault, bytes_of("t\0o"), 3, &error));
    CHECK(coffer_close(vault) == COFFER_OK);
    puts("ok");
    return 0;
}
