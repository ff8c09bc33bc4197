// PKCS #11 as far as p11-kit's server for modules needs it, declared here, so that a build needs neither
// p11-kit nor its headers: CofferEnginePKCS11 loads the library when p11-kit has started the module. The
// names are those of p11-kit's header, and the layouts those of the standard, version 2.40, on Linux.
// Tests/PKCS11/layout.c compares them with p11-kit's.
#pragma once

#ifndef COFFER_PKCS11_HEADERS

struct ck_version {
    unsigned char major;
    unsigned char minor;
};

struct ck_info {
    struct ck_version cryptoki_version;
    unsigned char manufacturer_id[32];
    unsigned long flags;
    unsigned char library_description[32];
    struct ck_version library_version;
};

struct ck_slot_info {
    unsigned char slot_description[64];
    unsigned char manufacturer_id[32];
    unsigned long flags;
    struct ck_version hardware_version;
    struct ck_version firmware_version;
};

struct ck_token_info {
    unsigned char label[32];
    unsigned char manufacturer_id[32];
    unsigned char model[16];
    unsigned char serial_number[16];
    unsigned long flags;
    unsigned long max_session_count;
    unsigned long session_count;
    unsigned long max_rw_session_count;
    unsigned long rw_session_count;
    unsigned long max_pin_len;
    unsigned long min_pin_len;
    unsigned long total_public_memory;
    unsigned long free_public_memory;
    unsigned long total_private_memory;
    unsigned long free_private_memory;
    struct ck_version hardware_version;
    struct ck_version firmware_version;
    unsigned char utc_time[16];
};

struct ck_session_info {
    unsigned long slot_id;
    unsigned long state;
    unsigned long flags;
    unsigned long device_error;
};

struct ck_attribute {
    unsigned long type;
    void *value;
    unsigned long value_len;
};

struct ck_mechanism {
    unsigned long mechanism;
    void *parameter;
    unsigned long parameter_len;
};

struct ck_mechanism_info {
    unsigned long min_key_size;
    unsigned long max_key_size;
    unsigned long flags;
};

#endif

struct ck_function_list;

// ck_function_list by a name of its own, so that the test has both.
struct coffer_function_list {
    struct ck_version version;
    unsigned long (*C_Initialize)(void *);
    unsigned long (*C_Finalize)(void *);
    unsigned long (*C_GetInfo)(struct ck_info *);
    unsigned long (*C_GetFunctionList)(struct ck_function_list **);
    unsigned long (*C_GetSlotList)(unsigned char, unsigned long *, unsigned long *);
    unsigned long (*C_GetSlotInfo)(unsigned long, struct ck_slot_info *);
    unsigned long (*C_GetTokenInfo)(unsigned long, struct ck_token_info *);
    unsigned long (*C_GetMechanismList)(unsigned long, unsigned long *, unsigned long *);
    unsigned long (*C_GetMechanismInfo)(unsigned long, unsigned long, struct ck_mechanism_info *);
    unsigned long (*C_InitToken)(unsigned long, unsigned char *, unsigned long, unsigned char *);
    unsigned long (*C_InitPIN)(unsigned long, unsigned char *, unsigned long);
    unsigned long (*C_SetPIN)(unsigned long, unsigned char *, unsigned long, unsigned char *, unsigned long);
    unsigned long (*C_OpenSession)(unsigned long, unsigned long, void *,
        unsigned long (*)(unsigned long, unsigned long, void *), unsigned long *);
    unsigned long (*C_CloseSession)(unsigned long);
    unsigned long (*C_CloseAllSessions)(unsigned long);
    unsigned long (*C_GetSessionInfo)(unsigned long, struct ck_session_info *);
    unsigned long (*C_GetOperationState)(unsigned long, unsigned char *, unsigned long *);
    unsigned long (*C_SetOperationState)(unsigned long, unsigned char *, unsigned long, unsigned long,
        unsigned long);
    unsigned long (*C_Login)(unsigned long, unsigned long, unsigned char *, unsigned long);
    unsigned long (*C_Logout)(unsigned long);
    unsigned long (*C_CreateObject)(unsigned long, struct ck_attribute *, unsigned long, unsigned long *);
    unsigned long (*C_CopyObject)(unsigned long, unsigned long, struct ck_attribute *, unsigned long,
        unsigned long *);
    unsigned long (*C_DestroyObject)(unsigned long, unsigned long);
    unsigned long (*C_GetObjectSize)(unsigned long, unsigned long, unsigned long *);
    unsigned long (*C_GetAttributeValue)(unsigned long, unsigned long, struct ck_attribute *, unsigned long);
    unsigned long (*C_SetAttributeValue)(unsigned long, unsigned long, struct ck_attribute *, unsigned long);
    unsigned long (*C_FindObjectsInit)(unsigned long, struct ck_attribute *, unsigned long);
    unsigned long (*C_FindObjects)(unsigned long, unsigned long *, unsigned long, unsigned long *);
    unsigned long (*C_FindObjectsFinal)(unsigned long);
    unsigned long (*C_EncryptInit)(unsigned long, struct ck_mechanism *, unsigned long);
    unsigned long (*C_Encrypt)(unsigned long, unsigned char *, unsigned long, unsigned char *,
        unsigned long *);
    unsigned long (*C_EncryptUpdate)(unsigned long, unsigned char *, unsigned long, unsigned char *,
        unsigned long *);
    unsigned long (*C_EncryptFinal)(unsigned long, unsigned char *, unsigned long *);
    unsigned long (*C_DecryptInit)(unsigned long, struct ck_mechanism *, unsigned long);
    unsigned long (*C_Decrypt)(unsigned long, unsigned char *, unsigned long, unsigned char *,
        unsigned long *);
    unsigned long (*C_DecryptUpdate)(unsigned long, unsigned char *, unsigned long, unsigned char *,
        unsigned long *);
    unsigned long (*C_DecryptFinal)(unsigned long, unsigned char *, unsigned long *);
    unsigned long (*C_DigestInit)(unsigned long, struct ck_mechanism *);
    unsigned long (*C_Digest)(unsigned long, unsigned char *, unsigned long, unsigned char *,
        unsigned long *);
    unsigned long (*C_DigestUpdate)(unsigned long, unsigned char *, unsigned long);
    unsigned long (*C_DigestKey)(unsigned long, unsigned long);
    unsigned long (*C_DigestFinal)(unsigned long, unsigned char *, unsigned long *);
    unsigned long (*C_SignInit)(unsigned long, struct ck_mechanism *, unsigned long);
    unsigned long (*C_Sign)(unsigned long, unsigned char *, unsigned long, unsigned char *, unsigned long *);
    unsigned long (*C_SignUpdate)(unsigned long, unsigned char *, unsigned long);
    unsigned long (*C_SignFinal)(unsigned long, unsigned char *, unsigned long *);
    unsigned long (*C_SignRecoverInit)(unsigned long, struct ck_mechanism *, unsigned long);
    unsigned long (*C_SignRecover)(unsigned long, unsigned char *, unsigned long, unsigned char *,
        unsigned long *);
    unsigned long (*C_VerifyInit)(unsigned long, struct ck_mechanism *, unsigned long);
    unsigned long (*C_Verify)(unsigned long, unsigned char *, unsigned long, unsigned char *, unsigned long);
    unsigned long (*C_VerifyUpdate)(unsigned long, unsigned char *, unsigned long);
    unsigned long (*C_VerifyFinal)(unsigned long, unsigned char *, unsigned long);
    unsigned long (*C_VerifyRecoverInit)(unsigned long, struct ck_mechanism *, unsigned long);
    unsigned long (*C_VerifyRecover)(unsigned long, unsigned char *, unsigned long, unsigned char *,
        unsigned long *);
    unsigned long (*C_DigestEncryptUpdate)(unsigned long, unsigned char *, unsigned long, unsigned char *,
        unsigned long *);
    unsigned long (*C_DecryptDigestUpdate)(unsigned long, unsigned char *, unsigned long, unsigned char *,
        unsigned long *);
    unsigned long (*C_SignEncryptUpdate)(unsigned long, unsigned char *, unsigned long, unsigned char *,
        unsigned long *);
    unsigned long (*C_DecryptVerifyUpdate)(unsigned long, unsigned char *, unsigned long, unsigned char *,
        unsigned long *);
    unsigned long (*C_GenerateKey)(unsigned long, struct ck_mechanism *, struct ck_attribute *,
        unsigned long, unsigned long *);
    unsigned long (*C_GenerateKeyPair)(unsigned long, struct ck_mechanism *, struct ck_attribute *,
        unsigned long, struct ck_attribute *, unsigned long, unsigned long *, unsigned long *);
    unsigned long (*C_WrapKey)(unsigned long, struct ck_mechanism *, unsigned long, unsigned long,
        unsigned char *, unsigned long *);
    unsigned long (*C_UnwrapKey)(unsigned long, struct ck_mechanism *, unsigned long, unsigned char *,
        unsigned long, struct ck_attribute *, unsigned long, unsigned long *);
    unsigned long (*C_DeriveKey)(unsigned long, struct ck_mechanism *, unsigned long,
        struct ck_attribute *, unsigned long, unsigned long *);
    unsigned long (*C_SeedRandom)(unsigned long, unsigned char *, unsigned long);
    unsigned long (*C_GenerateRandom)(unsigned long, unsigned char *, unsigned long);
    unsigned long (*C_GetFunctionStatus)(unsigned long);
    unsigned long (*C_CancelFunction)(unsigned long);
    unsigned long (*C_WaitForSlotEvent)(unsigned long, unsigned long *, void *);
};

// p11_kit_remote_serve_module of libp11-kit, which takes this list for its own.
typedef int (*coffer_serve_module)(struct coffer_function_list *module, int input, int output);
