/* Reads a token from the vault of this user and writes it to standard output.
 *
 *     cc example.c $(pkg-config --cflags --libs coffer) -o example
 *     ./example github.com ada <passcode.txt
 */
#include <coffer.h>
#include <stdio.h>

static int fail(const coffer_error *error) {
    fprintf(stderr, "%s\n", error->message);
    return error->code;
}

int main(int argc, char **argv) {
    coffer_error error = COFFER_ERROR_INIT;
    coffer_vault *vault;
    coffer_bytes *token;
    int result;
    if (argc != 3) {
        fprintf(stderr, "Usage: example SERVICE ACCOUNT <PASSCODE\n");
        return COFFER_INVALID_INPUT;
    }
    if (coffer_open(NULL, NULL, &vault, &error) != COFFER_OK) return fail(&error);
    if (coffer_unlock(vault, NULL, 0, NULL) != COFFER_OK
        && coffer_unlock_fd(vault, 0, &error) != COFFER_OK) {
        coffer_close(vault);
        return fail(&error);
    }
    result = coffer_token_get(vault, argv[1], argv[2], NULL, &token, &error);
    if (result == COFFER_OK) {
        fwrite(coffer_bytes_data(token), 1, coffer_bytes_length(token), stdout);
        coffer_bytes_free(token);
    }
    coffer_close(vault);
    return result == COFFER_OK ? 0 : fail(&error);
}
