/* Compares the declarations of Sources/CPKCS11/shim.h with p11-kit's. It is compiled twice, because both have
 * structures of the same names: the structures without COFFER_PKCS11_HEADERS, the functions with it. */
#define CRYPTOKI_GNU 1
#include <stddef.h>

#define LIKE(kind, our_kind, member) \
    _Static_assert(offsetof(struct our_kind, member) == offsetof(struct kind, member), #kind "." #member); \
    _Static_assert(sizeof(((struct our_kind *)0)->member) == sizeof(((struct kind *)0)->member), \
                   "size of " #kind "." #member)
#define AS_LARGE(kind, our_kind) _Static_assert(sizeof(struct our_kind) == sizeof(struct kind), #kind)

#ifndef COFFER_PKCS11_HEADERS
#define ck_version coffer_ck_version
#define ck_info coffer_ck_info
#define ck_slot_info coffer_ck_slot_info
#define ck_token_info coffer_ck_token_info
#define ck_session_info coffer_ck_session_info
#define ck_attribute coffer_ck_attribute
#define ck_mechanism coffer_ck_mechanism
#define ck_mechanism_info coffer_ck_mechanism_info
#include "shim.h"
#undef ck_version
#undef ck_info
#undef ck_slot_info
#undef ck_token_info
#undef ck_session_info
#undef ck_attribute
#undef ck_mechanism
#undef ck_mechanism_info
#include <p11-kit/pkcs11.h>

AS_LARGE(ck_version, coffer_ck_version);
LIKE(ck_version, coffer_ck_version, major);
LIKE(ck_version, coffer_ck_version, minor);
AS_LARGE(ck_info, coffer_ck_info);
LIKE(ck_info, coffer_ck_info, cryptoki_version);
LIKE(ck_info, coffer_ck_info, manufacturer_id);
LIKE(ck_info, coffer_ck_info, flags);
LIKE(ck_info, coffer_ck_info, library_description);
LIKE(ck_info, coffer_ck_info, library_version);
AS_LARGE(ck_slot_info, coffer_ck_slot_info);
LIKE(ck_slot_info, coffer_ck_slot_info, slot_description);
LIKE(ck_slot_info, coffer_ck_slot_info, manufacturer_id);
LIKE(ck_slot_info, coffer_ck_slot_info, flags);
LIKE(ck_slot_info, coffer_ck_slot_info, hardware_version);
LIKE(ck_slot_info, coffer_ck_slot_info, firmware_version);
AS_LARGE(ck_token_info, coffer_ck_token_info);
LIKE(ck_token_info, coffer_ck_token_info, label);
LIKE(ck_token_info, coffer_ck_token_info, manufacturer_id);
LIKE(ck_token_info, coffer_ck_token_info, model);
LIKE(ck_token_info, coffer_ck_token_info, serial_number);
LIKE(ck_token_info, coffer_ck_token_info, flags);
LIKE(ck_token_info, coffer_ck_token_info, max_session_count);
LIKE(ck_token_info, coffer_ck_token_info, session_count);
LIKE(ck_token_info, coffer_ck_token_info, max_rw_session_count);
LIKE(ck_token_info, coffer_ck_token_info, rw_session_count);
LIKE(ck_token_info, coffer_ck_token_info, max_pin_len);
LIKE(ck_token_info, coffer_ck_token_info, min_pin_len);
LIKE(ck_token_info, coffer_ck_token_info, total_public_memory);
LIKE(ck_token_info, coffer_ck_token_info, free_public_memory);
LIKE(ck_token_info, coffer_ck_token_info, total_private_memory);
LIKE(ck_token_info, coffer_ck_token_info, free_private_memory);
LIKE(ck_token_info, coffer_ck_token_info, hardware_version);
LIKE(ck_token_info, coffer_ck_token_info, firmware_version);
LIKE(ck_token_info, coffer_ck_token_info, utc_time);
AS_LARGE(ck_session_info, coffer_ck_session_info);
LIKE(ck_session_info, coffer_ck_session_info, slot_id);
LIKE(ck_session_info, coffer_ck_session_info, state);
LIKE(ck_session_info, coffer_ck_session_info, flags);
LIKE(ck_session_info, coffer_ck_session_info, device_error);
AS_LARGE(ck_attribute, coffer_ck_attribute);
LIKE(ck_attribute, coffer_ck_attribute, type);
LIKE(ck_attribute, coffer_ck_attribute, value);
LIKE(ck_attribute, coffer_ck_attribute, value_len);
AS_LARGE(ck_mechanism, coffer_ck_mechanism);
LIKE(ck_mechanism, coffer_ck_mechanism, mechanism);
LIKE(ck_mechanism, coffer_ck_mechanism, parameter);
LIKE(ck_mechanism, coffer_ck_mechanism, parameter_len);
AS_LARGE(ck_mechanism_info, coffer_ck_mechanism_info);
LIKE(ck_mechanism_info, coffer_ck_mechanism_info, min_key_size);
LIKE(ck_mechanism_info, coffer_ck_mechanism_info, max_key_size);
LIKE(ck_mechanism_info, coffer_ck_mechanism_info, flags);

#else
#include <p11-kit/pkcs11.h>
#include "shim.h"

#define SAME(name) \
    LIKE(ck_function_list, coffer_function_list, name); \
    _Static_assert(__builtin_types_compatible_p(__typeof__(((struct coffer_function_list *)0)->name), \
                                                __typeof__(((struct ck_function_list *)0)->name)), \
                   "arguments of " #name)

AS_LARGE(ck_function_list, coffer_function_list);
LIKE(ck_function_list, coffer_function_list, version);
SAME(C_Initialize);
SAME(C_Finalize);
SAME(C_GetInfo);
SAME(C_GetFunctionList);
SAME(C_GetSlotList);
SAME(C_GetSlotInfo);
SAME(C_GetTokenInfo);
SAME(C_GetMechanismList);
SAME(C_GetMechanismInfo);
SAME(C_InitToken);
SAME(C_InitPIN);
SAME(C_SetPIN);
SAME(C_OpenSession);
SAME(C_CloseSession);
SAME(C_CloseAllSessions);
SAME(C_GetSessionInfo);
SAME(C_GetOperationState);
SAME(C_SetOperationState);
SAME(C_Login);
SAME(C_Logout);
SAME(C_CreateObject);
SAME(C_CopyObject);
SAME(C_DestroyObject);
SAME(C_GetObjectSize);
SAME(C_GetAttributeValue);
SAME(C_SetAttributeValue);
SAME(C_FindObjectsInit);
SAME(C_FindObjects);
SAME(C_FindObjectsFinal);
SAME(C_EncryptInit);
SAME(C_Encrypt);
SAME(C_EncryptUpdate);
SAME(C_EncryptFinal);
SAME(C_DecryptInit);
SAME(C_Decrypt);
SAME(C_DecryptUpdate);
SAME(C_DecryptFinal);
SAME(C_DigestInit);
SAME(C_Digest);
SAME(C_DigestUpdate);
SAME(C_DigestKey);
SAME(C_DigestFinal);
SAME(C_SignInit);
SAME(C_Sign);
SAME(C_SignUpdate);
SAME(C_SignFinal);
SAME(C_SignRecoverInit);
SAME(C_SignRecover);
SAME(C_VerifyInit);
SAME(C_Verify);
SAME(C_VerifyUpdate);
SAME(C_VerifyFinal);
SAME(C_VerifyRecoverInit);
SAME(C_VerifyRecover);
SAME(C_DigestEncryptUpdate);
SAME(C_DecryptDigestUpdate);
SAME(C_SignEncryptUpdate);
SAME(C_DecryptVerifyUpdate);
SAME(C_GenerateKey);
SAME(C_GenerateKeyPair);
SAME(C_WrapKey);
SAME(C_UnwrapKey);
SAME(C_DeriveKey);
SAME(C_SeedRandom);
SAME(C_GenerateRandom);
SAME(C_GetFunctionStatus);
SAME(C_CancelFunction);
SAME(C_WaitForSlotEvent);
#endif
