import CPKCS11

/// The answer of a function that the module does not have. Not a member: functions for C capture nothing.
private let refusal = ModuleFailure.functionNotSupported.code
/// The answer of the two functions that the standard keeps for older programs.
private let notParallel = ModuleFailure.functionNotParallel.code

/// The functions of PKCS #11 by name. p11-kit calls each without asking whether it is there.
enum ModuleTable {
    static func fill(_ list: inout coffer_function_list) {
        list.version = ck_version(major: 2, minor: 40)
        fillGeneral(&list)
        fillSessions(&list)
        fillObjects(&list)
        fillSigning(&list)
        refuseCiphers(&list)
        refuseDigests(&list)
        refuseVerifying(&list)
        refuseKeys(&list)
    }

    private static func fillGeneral(_ list: inout coffer_function_list) {
        unsafe list.C_Initialize = { _ in ModuleFunctions.initialize() }
        unsafe list.C_Finalize = { unsafe ModuleFunctions.finalize($0) }
        unsafe list.C_GetInfo = { unsafe ModuleFunctions.info($0) }
        unsafe list.C_GetFunctionList = { _ in refusal }
        unsafe list.C_GetSlotList = { unsafe ModuleFunctions.slots($1, $2) }
        unsafe list.C_GetSlotInfo = { unsafe ModuleFunctions.slotInfo($0, $1) }
        unsafe list.C_GetTokenInfo = { unsafe ModuleFunctions.tokenInfo($0, $1) }
        unsafe list.C_GetMechanismList = { unsafe ModuleFunctions.mechanisms($0, $1, $2) }
        unsafe list.C_GetMechanismInfo = { unsafe ModuleFunctions.mechanismInfo($0, $1, $2) }
        unsafe list.C_WaitForSlotEvent = { _, _, _ in refusal }
        unsafe list.C_InitToken = { _, _, _, _ in refusal }
        unsafe list.C_InitPIN = { _, _, _ in refusal }
        unsafe list.C_SetPIN = { _, _, _, _, _ in refusal }
        unsafe list.C_SeedRandom = { _, _, _ in refusal }
        unsafe list.C_GenerateRandom = { unsafe ModuleFunctions.random($0, $1, $2) }
        list.C_GetFunctionStatus = { _ in notParallel }
        list.C_CancelFunction = { _ in notParallel }
    }

    private static func fillSessions(_ list: inout coffer_function_list) {
        unsafe list.C_OpenSession = { unsafe ModuleFunctions.openSession($0, $1, $4) }
        list.C_CloseSession = { ModuleFunctions.closeSession($0) }
        list.C_CloseAllSessions = { ModuleFunctions.closeAllSessions($0) }
        unsafe list.C_GetSessionInfo = { unsafe ModuleFunctions.sessionInfo($0, $1) }
        unsafe list.C_GetOperationState = { _, _, _ in refusal }
        unsafe list.C_SetOperationState = { _, _, _, _, _ in refusal }
        unsafe list.C_Login = { session, user, _, _ in ModuleFunctions.logIn(session, user) }
        list.C_Logout = { ModuleFunctions.logOut($0) }
    }

    private static func fillObjects(_ list: inout coffer_function_list) {
        unsafe list.C_CreateObject = { _, _, _, _ in refusal }
        unsafe list.C_CopyObject = { _, _, _, _, _ in refusal }
        list.C_DestroyObject = { _, _ in refusal }
        unsafe list.C_GetObjectSize = { _, _, _ in refusal }
        unsafe list.C_GetAttributeValue = { unsafe ModuleFunctions.attributes($0, $1, $2, $3) }
        unsafe list.C_SetAttributeValue = { _, _, _, _ in refusal }
        unsafe list.C_FindObjectsInit = { unsafe ModuleFunctions.beginSearch($0, $1, $2) }
        unsafe list.C_FindObjects = { unsafe ModuleFunctions.search($0, $1, $2, $3) }
        list.C_FindObjectsFinal = { ModuleFunctions.endSearch($0) }
    }

    private static func fillSigning(_ list: inout coffer_function_list) {
        unsafe list.C_SignInit = { unsafe ModuleFunctions.beginSignature($0, $1, $2) }
        unsafe list.C_Sign = { unsafe ModuleFunctions.sign($0, $1, $2, $3, $4) }
        unsafe list.C_SignUpdate = { _, _, _ in refusal }
        unsafe list.C_SignFinal = { _, _, _ in refusal }
        unsafe list.C_SignRecoverInit = { _, _, _ in refusal }
        unsafe list.C_SignRecover = { _, _, _, _, _ in refusal }
    }

    // MARK: What a token that only signs does not do

    private static func refuseCiphers(_ list: inout coffer_function_list) {
        unsafe list.C_EncryptInit = { _, _, _ in refusal }
        unsafe list.C_Encrypt = { _, _, _, _, _ in refusal }
        unsafe list.C_EncryptUpdate = { _, _, _, _, _ in refusal }
        unsafe list.C_EncryptFinal = { _, _, _ in refusal }
        unsafe list.C_DecryptInit = { _, _, _ in refusal }
        unsafe list.C_Decrypt = { _, _, _, _, _ in refusal }
        unsafe list.C_DecryptUpdate = { _, _, _, _, _ in refusal }
        unsafe list.C_DecryptFinal = { _, _, _ in refusal }
    }

    private static func refuseDigests(_ list: inout coffer_function_list) {
        unsafe list.C_DigestInit = { _, _ in refusal }
        unsafe list.C_Digest = { _, _, _, _, _ in refusal }
        unsafe list.C_DigestUpdate = { _, _, _ in refusal }
        list.C_DigestKey = { _, _ in refusal }
        unsafe list.C_DigestFinal = { _, _, _ in refusal }
        unsafe list.C_DigestEncryptUpdate = { _, _, _, _, _ in refusal }
        unsafe list.C_DecryptDigestUpdate = { _, _, _, _, _ in refusal }
        unsafe list.C_SignEncryptUpdate = { _, _, _, _, _ in refusal }
        unsafe list.C_DecryptVerifyUpdate = { _, _, _, _, _ in refusal }
    }

    private static func refuseVerifying(_ list: inout coffer_function_list) {
        unsafe list.C_VerifyInit = { _, _, _ in refusal }
        unsafe list.C_Verify = { _, _, _, _, _ in refusal }
        unsafe list.C_VerifyUpdate = { _, _, _ in refusal }
        unsafe list.C_VerifyFinal = { _, _, _ in refusal }
        unsafe list.C_VerifyRecoverInit = { _, _, _ in refusal }
        unsafe list.C_VerifyRecover = { _, _, _, _, _ in refusal }
    }

    private static func refuseKeys(_ list: inout coffer_function_list) {
        unsafe list.C_GenerateKey = { _, _, _, _, _ in refusal }
        unsafe list.C_GenerateKeyPair = { _, _, _, _, _, _, _, _ in refusal }
        unsafe list.C_WrapKey = { _, _, _, _, _, _ in refusal }
        unsafe list.C_UnwrapKey = { _, _, _, _, _, _, _, _ in refusal }
        unsafe list.C_DeriveKey = { _, _, _, _, _, _ in refusal }
    }
}
