/* Stands in for p11-kit's library in coffer-pkcs11, and calls the module's functions as p11-kit does not: with null
 * pointers, wrong sizes and handles, in wrong orders, and from many threads. Places for answers end where memory ends.
 * Prints "ok", or the first call with another answer. The vault has the key pair "work" for P-256 with the use "sign",
 * one for Ed25519 beside it, and needs no passcode. */
#define _GNU_SOURCE
#define P11_KIT_FUTURE_UNSTABLE_API 1
#include <p11-kit/pkcs11.h>
#include <p11-kit/remote.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef CKM_EDDSA
#define CKM_EDDSA 0x1057UL
#endif
#define MANY (~0UL)

static CK_FUNCTION_LIST *module;

static void stop(int line, const char *call, CK_RV got, CK_RV expected)
{
    dprintf(1, "line %d: %s is %#lx, not %#lx\n", line, call, got, expected);
    _exit(1);
}

#define EXPECT(code, call)                                  \
    do {                                                    \
        CK_RV got_ = (call);                                \
        if (got_ != (code)) stop(__LINE__, #call, got_, (code)); \
    } while (0)
#define CHECK(condition) EXPECT(1UL, (CK_RV)!!(condition))

/* A place of this size at whose end memory ends. */
static void *edge(size_t size)
{
    static const size_t page = 4096;
    char *base = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED || mprotect(base + page, page, PROT_NONE) != 0) stop(__LINE__, "mmap", 1, 0);
    memset(base, 0xA5, page);
    return base + page - size;
}

static CK_SESSION_HANDLE opened(void)
{
    CK_SESSION_HANDLE session = 0;
    EXPECT(CKR_OK, module->C_OpenSession(0, CKF_SERIAL_SESSION, NULL, NULL, &session));
    return session;
}

/* The private key of an algorithm. */
static CK_OBJECT_HANDLE found(CK_SESSION_HANDLE session, CK_KEY_TYPE type)
{
    CK_OBJECT_CLASS class = CKO_PRIVATE_KEY;
    CK_ATTRIBUTE template[] = {{CKA_CLASS, &class, sizeof class}, {CKA_KEY_TYPE, &type, sizeof type}};
    CK_OBJECT_HANDLE object = 0;
    CK_ULONG count = 0;
    EXPECT(CKR_OK, module->C_FindObjectsInit(session, template, 2));
    EXPECT(CKR_OK, module->C_FindObjects(session, &object, 1, &count));
    EXPECT(CKR_OK, module->C_FindObjectsFinal(session));
    CHECK(count == 1 && object != 0);
    return object;
}

static CK_RV begun(CK_SESSION_HANDLE session, CK_MECHANISM_TYPE type, CK_OBJECT_HANDLE key)
{
    CK_MECHANISM mechanism = {type, NULL, 0};
    return module->C_SignInit(session, &mechanism, key);
}

/* Every function is there, and before C_Initialize and after C_Finalize none does anything. */
static void orders(void)
{
    void *const *functions = (void *const *)(const void *)((char *)module + offsetof(CK_FUNCTION_LIST, C_Initialize));
    for (size_t index = 0; index < (sizeof *module - offsetof(CK_FUNCTION_LIST, C_Initialize)) / sizeof *functions;
         index++)
        CHECK(functions[index] != NULL);
    CHECK(module->version.major == 2 && module->version.minor == 40);
    for (int round = 0; round < 2; round++) {
        CK_INFO info;
        CK_SESSION_HANDLE session = 1;
        CK_ULONG count = 0;
        EXPECT(CKR_CRYPTOKI_NOT_INITIALIZED, module->C_GetInfo(&info));
        EXPECT(CKR_CRYPTOKI_NOT_INITIALIZED, module->C_GetSlotList(CK_TRUE, NULL, &count));
        EXPECT(CKR_CRYPTOKI_NOT_INITIALIZED, module->C_OpenSession(0, CKF_SERIAL_SESSION, NULL, NULL, &session));
        EXPECT(CKR_CRYPTOKI_NOT_INITIALIZED, module->C_FindObjectsInit(1, NULL, 0));
        EXPECT(CKR_CRYPTOKI_NOT_INITIALIZED, module->C_Sign(1, NULL, 0, NULL, NULL));
        EXPECT(CKR_CRYPTOKI_NOT_INITIALIZED, module->C_Login(1, CKU_USER, NULL, 0));
        EXPECT(CKR_CRYPTOKI_NOT_INITIALIZED, module->C_CloseAllSessions(0));
        EXPECT(CKR_CRYPTOKI_NOT_INITIALIZED, module->C_Finalize(NULL));
        EXPECT(CKR_OK, module->C_Initialize(NULL));
        EXPECT(CKR_CRYPTOKI_ALREADY_INITIALIZED, module->C_Initialize(NULL));
        session = opened();
        EXPECT(CKR_ARGUMENTS_BAD, module->C_Finalize(&info));
        EXPECT(CKR_OK, module->C_Finalize(NULL));
        EXPECT(CKR_OK, module->C_Initialize(NULL));
        /* The session ended with the other user of the module. */
        EXPECT(CKR_SESSION_HANDLE_INVALID, module->C_CloseSession(session));
        EXPECT(CKR_OK, module->C_Finalize(NULL));
    }
    EXPECT(CKR_OK, module->C_Initialize(NULL));
}

static void descriptions(void)
{
    EXPECT(CKR_ARGUMENTS_BAD, module->C_GetInfo(NULL));
    EXPECT(CKR_OK, module->C_GetInfo(edge(sizeof(CK_INFO))));
    EXPECT(CKR_ARGUMENTS_BAD, module->C_GetSlotInfo(0, NULL));
    EXPECT(CKR_OK, module->C_GetSlotInfo(0, edge(sizeof(CK_SLOT_INFO))));
    EXPECT(CKR_ARGUMENTS_BAD, module->C_GetTokenInfo(0, NULL));
    EXPECT(CKR_OK, module->C_GetTokenInfo(0, edge(sizeof(CK_TOKEN_INFO))));
    EXPECT(CKR_ARGUMENTS_BAD, module->C_GetMechanismInfo(0, CKM_ECDSA, NULL));
    EXPECT(CKR_OK, module->C_GetMechanismInfo(0, CKM_ECDSA, edge(sizeof(CK_MECHANISM_INFO))));
    EXPECT(CKR_MECHANISM_INVALID, module->C_GetMechanismInfo(0, MANY, edge(sizeof(CK_MECHANISM_INFO))));
    CK_SLOT_INFO slot;
    CK_TOKEN_INFO token;
    CK_MECHANISM_INFO mechanism;
    CK_ULONG count = 9;
    for (CK_SLOT_ID other = 1; other != 0; other = other == 1 ? MANY : 0) {
        EXPECT(CKR_SLOT_ID_INVALID, module->C_GetSlotInfo(other, &slot));
        EXPECT(CKR_SLOT_ID_INVALID, module->C_GetTokenInfo(other, &token));
        EXPECT(CKR_SLOT_ID_INVALID, module->C_GetMechanismList(other, NULL, &count));
        EXPECT(CKR_SLOT_ID_INVALID, module->C_GetMechanismInfo(other, CKM_ECDSA, &mechanism));
        EXPECT(CKR_SLOT_ID_INVALID, module->C_CloseAllSessions(other));
    }
    EXPECT(CKR_ARGUMENTS_BAD, module->C_GetSlotList(CK_TRUE, NULL, NULL));
    EXPECT(CKR_OK, module->C_GetSlotList(CK_TRUE, NULL, &count));
    CHECK(count == 1);
    count = 0;
    EXPECT(CKR_BUFFER_TOO_SMALL, module->C_GetSlotList(CK_TRUE, edge(0), &count));
    CHECK(count == 1);
    /* A lie: more places than there are, but no more is written than is needed. */
    count = MANY;
    EXPECT(CKR_OK, module->C_GetSlotList(CK_TRUE, edge(sizeof(CK_SLOT_ID)), &count));
    CHECK(count == 1);
    EXPECT(CKR_ARGUMENTS_BAD, module->C_GetMechanismList(0, NULL, NULL));
    EXPECT(CKR_OK, module->C_GetMechanismList(0, NULL, &count));
    CHECK(count == 4);
    count = 3;
    EXPECT(CKR_BUFFER_TOO_SMALL, module->C_GetMechanismList(0, edge(3 * sizeof(CK_MECHANISM_TYPE)), &count));
    CHECK(count == 4);
    EXPECT(CKR_OK, module->C_GetMechanismList(0, edge(4 * sizeof(CK_MECHANISM_TYPE)), &count));
}

static void sessions(void)
{
    CK_SESSION_HANDLE session = 0;
    CK_SESSION_INFO info;
    unsigned char bytes[32];
    EXPECT(CKR_ARGUMENTS_BAD, module->C_OpenSession(0, CKF_SERIAL_SESSION, NULL, NULL, NULL));
    EXPECT(CKR_SESSION_PARALLEL_NOT_SUPPORTED, module->C_OpenSession(0, 0, NULL, NULL, &session));
    EXPECT(CKR_TOKEN_WRITE_PROTECTED,
           module->C_OpenSession(0, CKF_SERIAL_SESSION | CKF_RW_SESSION, NULL, NULL, &session));
    EXPECT(CKR_SLOT_ID_INVALID, module->C_OpenSession(MANY, CKF_SERIAL_SESSION, NULL, NULL, &session));
    session = opened();
    EXPECT(CKR_ARGUMENTS_BAD, module->C_GetSessionInfo(session, NULL));
    EXPECT(CKR_OK, module->C_GetSessionInfo(session, edge(sizeof(CK_SESSION_INFO))));
    EXPECT(CKR_ARGUMENTS_BAD, module->C_GenerateRandom(session, NULL, 1));
    EXPECT(CKR_ARGUMENTS_BAD, module->C_GenerateRandom(session, bytes, MANY));
    EXPECT(CKR_OK, module->C_GenerateRandom(session, edge(7), 7));
    EXPECT(CKR_USER_TYPE_INVALID, module->C_Login(session, CKU_SO, NULL, 0));
    EXPECT(CKR_USER_NOT_LOGGED_IN, module->C_Logout(session));
    /* The PIN is not read, however long it is said to be. */
    EXPECT(CKR_OK, module->C_Login(session, CKU_USER, (unsigned char *)edge(0), MANY));
    EXPECT(CKR_USER_ALREADY_LOGGED_IN, module->C_Login(session, CKU_USER, NULL, 8));
    EXPECT(CKR_OK, module->C_GetSessionInfo(session, &info));
    CHECK(info.state == CKS_RO_USER_FUNCTIONS);
    EXPECT(CKR_OK, module->C_Logout(session));
    EXPECT(CKR_OK, module->C_CloseSession(session));
    CK_SESSION_HANDLE wrong[] = {session, 0, MANY};
    for (size_t index = 0; index < 3; index++) {
        CK_ULONG count = 0;
        EXPECT(CKR_SESSION_HANDLE_INVALID, module->C_CloseSession(wrong[index]));
        EXPECT(CKR_SESSION_HANDLE_INVALID, module->C_GetSessionInfo(wrong[index], &info));
        EXPECT(CKR_SESSION_HANDLE_INVALID, module->C_GenerateRandom(wrong[index], bytes, 32));
        EXPECT(CKR_SESSION_HANDLE_INVALID, module->C_Login(wrong[index], CKU_USER, NULL, 0));
        EXPECT(CKR_SESSION_HANDLE_INVALID, module->C_Logout(wrong[index]));
        EXPECT(CKR_SESSION_HANDLE_INVALID, module->C_FindObjectsInit(wrong[index], NULL, 0));
        EXPECT(CKR_SESSION_HANDLE_INVALID, module->C_FindObjects(wrong[index], &count, 1, &count));
        EXPECT(CKR_SESSION_HANDLE_INVALID, module->C_FindObjectsFinal(wrong[index]));
        EXPECT(CKR_SESSION_HANDLE_INVALID, module->C_GetAttributeValue(wrong[index], 1, NULL, 0));
        EXPECT(CKR_SESSION_HANDLE_INVALID, begun(wrong[index], CKM_ECDSA, 1));
        EXPECT(CKR_SESSION_HANDLE_INVALID, module->C_Sign(wrong[index], bytes, 32, bytes, &count));
    }
}

static void searches(void)
{
    CK_SESSION_HANDLE session = opened();
    CK_ULONG count = 0;
    CK_OBJECT_HANDLE objects[64];
    CK_ATTRIBUTE wrong = {CKA_LABEL, NULL, 5};
    EXPECT(CKR_OPERATION_NOT_INITIALIZED, module->C_FindObjects(session, objects, 1, &count));
    EXPECT(CKR_OPERATION_NOT_INITIALIZED, module->C_FindObjectsFinal(session));
    EXPECT(CKR_ARGUMENTS_BAD, module->C_FindObjectsInit(session, NULL, 1));
    EXPECT(CKR_ARGUMENTS_BAD, module->C_FindObjectsInit(session, &wrong, 1));
    EXPECT(CKR_ARGUMENTS_BAD, module->C_FindObjectsInit(session, &wrong, MANY));
    wrong.pValue = edge(0);
    wrong.ulValueLen = MANY;
    EXPECT(CKR_ARGUMENTS_BAD, module->C_FindObjectsInit(session, &wrong, 1));
    /* An empty value is one that no object has. */
    wrong.ulValueLen = 0;
    EXPECT(CKR_OK, module->C_FindObjectsInit(session, &wrong, 1));
    EXPECT(CKR_OPERATION_ACTIVE, module->C_FindObjectsInit(session, NULL, 0));
    EXPECT(CKR_OK, module->C_FindObjects(session, objects, 64, &count));
    CHECK(count == 0);
    EXPECT(CKR_OK, module->C_FindObjectsFinal(session));
    /* Two key pairs have four halves; a lie about the room reads and writes no more. */
    EXPECT(CKR_OK, module->C_FindObjectsInit(session, NULL, 0));
    EXPECT(CKR_ARGUMENTS_BAD, module->C_FindObjects(session, NULL, 4, &count));
    EXPECT(CKR_ARGUMENTS_BAD, module->C_FindObjects(session, objects, 4, NULL));
    EXPECT(CKR_OK, module->C_FindObjects(session, edge(0), 0, &count));
    CHECK(count == 0);
    EXPECT(CKR_OK, module->C_FindObjects(session, edge(sizeof(CK_OBJECT_HANDLE)), 1, &count));
    CHECK(count == 1);
    EXPECT(CKR_OK, module->C_FindObjects(session, edge(3 * sizeof(CK_OBJECT_HANDLE)), MANY, &count));
    CHECK(count == 3);
    EXPECT(CKR_OK, module->C_FindObjects(session, edge(0), MANY, &count));
    CHECK(count == 0);
    EXPECT(CKR_OK, module->C_FindObjectsFinal(session));
    EXPECT(CKR_OK, module->C_CloseSession(session));
}

static void attributes(void)
{
    CK_SESSION_HANDLE session = opened();
    CK_OBJECT_HANDLE key = found(session, CKK_EC);
    CK_BBOOL flag = 9;
    EXPECT(CKR_ARGUMENTS_BAD, module->C_GetAttributeValue(session, key, NULL, 1));
    CK_ATTRIBUTE label = {CKA_LABEL, NULL, 0};
    EXPECT(CKR_ARGUMENTS_BAD, module->C_GetAttributeValue(session, key, &label, MANY));
    EXPECT(CKR_OK, module->C_GetAttributeValue(session, key, &label, 1));
    CHECK(label.ulValueLen == 4);
    label.pValue = edge(3);
    label.ulValueLen = 3;
    EXPECT(CKR_BUFFER_TOO_SMALL, module->C_GetAttributeValue(session, key, &label, 1));
    CHECK(label.ulValueLen == CK_UNAVAILABLE_INFORMATION);
    label.pValue = edge(4);
    label.ulValueLen = MANY;
    EXPECT(CKR_OK, module->C_GetAttributeValue(session, key, &label, 1));
    CHECK(label.ulValueLen == 4 && memcmp(label.pValue, "work", 4) == 0);
    EXPECT(CKR_OBJECT_HANDLE_INVALID, module->C_GetAttributeValue(session, MANY, &label, 1));
    /* What cannot be answered does not prevent the other answers; a part of the private key never is one. */
    unsigned char secret[64] = {0};
    CK_ATTRIBUTE several[] = {{CKA_VALUE, secret, sizeof secret}, {CKA_EXTRACTABLE, &flag, 1}, {MANY, secret, 64}};
    CK_RV code = module->C_GetAttributeValue(session, key, several, 3);
    CHECK(code == CKR_ATTRIBUTE_SENSITIVE || code == CKR_ATTRIBUTE_TYPE_INVALID);
    CHECK(several[0].ulValueLen == CK_UNAVAILABLE_INFORMATION && several[2].ulValueLen == CK_UNAVAILABLE_INFORMATION);
    CHECK(several[1].ulValueLen == 1 && flag == CK_FALSE);
    for (size_t index = 0; index < sizeof secret; index++) CHECK(secret[index] == 0);
    EXPECT(CKR_OK, module->C_CloseSession(session));
}

static void signatures(void)
{
    CK_SESSION_HANDLE session = opened();
    CK_OBJECT_HANDLE key = found(session, CKK_EC), other = found(session, 0x40);
    unsigned char digest[32] = {1}, place[64];
    CK_ULONG size = sizeof place;
    EXPECT(CKR_ARGUMENTS_BAD, module->C_SignInit(session, NULL, key));
    CK_MECHANISM wrong = {CKM_ECDSA, NULL, 8};
    EXPECT(CKR_ARGUMENTS_BAD, module->C_SignInit(session, &wrong, key));
    wrong.pParameter = edge(0);
    wrong.ulParameterLen = MANY;
    EXPECT(CKR_ARGUMENTS_BAD, module->C_SignInit(session, &wrong, key));
    wrong.pParameter = edge(8);
    wrong.ulParameterLen = 8;
    EXPECT(CKR_MECHANISM_PARAM_INVALID, module->C_SignInit(session, &wrong, key));
    EXPECT(CKR_KEY_HANDLE_INVALID, begun(session, CKM_ECDSA, MANY));
    EXPECT(CKR_KEY_HANDLE_INVALID, begun(session, CKM_ECDSA, 0));
    EXPECT(CKR_MECHANISM_INVALID, begun(session, MANY, key));
    EXPECT(CKR_MECHANISM_INVALID, begun(session, CKM_ECDSA_SHA1, key));
    EXPECT(CKR_KEY_TYPE_INCONSISTENT, begun(session, CKM_EDDSA, key));
    EXPECT(CKR_KEY_TYPE_INCONSISTENT, begun(session, CKM_ECDSA, other));
    EXPECT(CKR_OPERATION_NOT_INITIALIZED, module->C_Sign(session, digest, 32, place, &size));
    /* A question for the size, and too small a place, leave the signature begun. */
    EXPECT(CKR_OK, begun(session, CKM_ECDSA, key));
    EXPECT(CKR_OPERATION_ACTIVE, begun(session, CKM_ECDSA, key));
    size = 0;
    EXPECT(CKR_OK, module->C_Sign(session, NULL, MANY, NULL, &size));
    CHECK(size == 64);
    size = 63;
    EXPECT(CKR_BUFFER_TOO_SMALL, module->C_Sign(session, digest, 32, edge(63), &size));
    CHECK(size == 64);
    EXPECT(CKR_OK, module->C_Sign(session, digest, 32, edge(64), &size));
    EXPECT(CKR_OPERATION_NOT_INITIALIZED, module->C_Sign(session, digest, 32, place, &size));
    /* The data may lie where the signature goes. */
    size = sizeof place;
    EXPECT(CKR_OK, begun(session, CKM_ECDSA, key));
    EXPECT(CKR_OK, module->C_Sign(session, place, 32, place, &size));
    /* Everything else that fails ends it. */
    struct { unsigned char *data; CK_ULONG count; CK_ULONG *size; CK_RV code; } bad[] = {
        {NULL, 32, &size, CKR_ARGUMENTS_BAD},  {digest, 32, NULL, CKR_ARGUMENTS_BAD},
        {digest, 31, &size, CKR_DATA_LEN_RANGE}, {NULL, 0, &size, CKR_DATA_LEN_RANGE},
        {edge(0), MANY, &size, CKR_DATA_LEN_RANGE},
    };
    for (size_t index = 0; index < sizeof bad / sizeof *bad; index++) {
        size = sizeof place;
        EXPECT(CKR_OK, begun(session, CKM_ECDSA, key));
        EXPECT(bad[index].code, module->C_Sign(session, bad[index].data, bad[index].count, place, bad[index].size));
        EXPECT(CKR_OPERATION_NOT_INITIALIZED, module->C_Sign(session, digest, 32, place, &size));
    }
    /* Ed25519 signs messages, also none. */
    EXPECT(CKR_OK, begun(session, CKM_EDDSA, other));
    EXPECT(CKR_OK, module->C_Sign(session, NULL, 0, edge(64), &size));
    /* Signed piece by piece is nothing. */
    EXPECT(CKR_FUNCTION_NOT_SUPPORTED, module->C_SignUpdate(session, NULL, MANY));
    EXPECT(CKR_FUNCTION_NOT_SUPPORTED, module->C_SignFinal(session, NULL, NULL));
    EXPECT(CKR_FUNCTION_NOT_SUPPORTED, module->C_DestroyObject(session, key));
    EXPECT(CKR_FUNCTION_NOT_SUPPORTED, module->C_SetPIN(session, NULL, MANY, NULL, MANY));
    EXPECT(CKR_FUNCTION_NOT_SUPPORTED, module->C_CreateObject(session, NULL, MANY, NULL));
    EXPECT(CKR_FUNCTION_NOT_SUPPORTED, module->C_WrapKey(session, NULL, key, key, NULL, NULL));
    EXPECT(CKR_FUNCTION_NOT_PARALLEL, module->C_CancelFunction(session));
    EXPECT(CKR_OK, module->C_CloseSession(session));
}

static CK_SESSION_HANDLE shared;
static CK_OBJECT_HANDLE shared_key;
static atomic_int running, signed_count;

/* Signs with a session of its own, and with one that all threads have. */
static void *sign_often(void *unused)
{
    (void)unused;
    unsigned char digest[32] = {2}, place[64];
    for (int round = 0; round < 4; round++) {
        CK_SESSION_HANDLE own = opened();
        CK_ULONG size = sizeof place;
        EXPECT(CKR_OK, begun(own, CKM_ECDSA, shared_key));
        EXPECT(CKR_OK, module->C_Sign(own, digest, 32, place, &size));
        CHECK(size == 64);
        EXPECT(CKR_OK, module->C_CloseSession(own));
        CK_RV code = begun(shared, CKM_ECDSA, shared_key);
        CHECK(code == CKR_OK || code == CKR_OPERATION_ACTIVE);
        size = sizeof place;
        code = module->C_Sign(shared, digest, 32, place, &size);
        CHECK(code == CKR_OK || code == CKR_OPERATION_NOT_INITIALIZED);
    }
    atomic_fetch_sub(&running, 1);
    return NULL;
}

/* Signs while another thread finalizes the module again and again. */
static void *sign_through(void *unused)
{
    (void)unused;
    unsigned char digest[32] = {3};
    for (int round = 0; round < 50; round++) {
        CK_SESSION_HANDLE own = 0;
        CK_ULONG size = 64;
        CK_RV code = module->C_OpenSession(0, CKF_SERIAL_SESSION, NULL, NULL, &own);
        if (code == CKR_OK) code = begun(own, CKM_ECDSA, shared_key);
        if (code == CKR_OK) code = module->C_Sign(own, digest, 32, edge(64), &size);
        if (code == CKR_OK) atomic_fetch_add(&signed_count, 1);
        CHECK(code == CKR_OK || code == CKR_CRYPTOKI_NOT_INITIALIZED || code == CKR_SESSION_HANDLE_INVALID
              || code == CKR_OPERATION_NOT_INITIALIZED);
    }
    atomic_fetch_sub(&running, 1);
    return NULL;
}

static void together(void *(*work)(void *), int count, int finalizes)
{
    pthread_t threads[8];
    atomic_store(&running, count);
    for (int index = 0; index < count; index++) CHECK(pthread_create(&threads[index], NULL, work, NULL) == 0);
    while (finalizes && atomic_load(&running) > 0) {
        EXPECT(CKR_OK, module->C_Finalize(NULL));
        EXPECT(CKR_OK, module->C_Initialize(NULL));
        usleep(3000);
    }
    for (int index = 0; index < count; index++) CHECK(pthread_join(threads[index], NULL) == 0);
}

static void threads(void)
{
    shared = opened();
    shared_key = found(shared, CKK_EC);
    together(sign_often, 8, 0);
    together(sign_through, 4, 1);
    CK_SESSION_HANDLE session = opened();
    unsigned char digest[32] = {4};
    CK_ULONG size = 64;
    EXPECT(CKR_OK, begun(session, CKM_ECDSA, found(session, CKK_EC)));
    EXPECT(CKR_OK, module->C_Sign(session, digest, 32, edge(64), &size));
    EXPECT(CKR_OK, module->C_Finalize(NULL));
    EXPECT(CKR_CRYPTOKI_NOT_INITIALIZED, module->C_CloseSession(session));
}

int p11_kit_remote_serve_module(CK_FUNCTION_LIST *functions, int input, int output)
{
    module = functions;
    CHECK(input == 0 && output == 1);
    orders();
    descriptions();
    sessions();
    searches();
    attributes();
    signatures();
    threads();
    dprintf(1, "ok\n");
    return 0;
}
