package import CofferBase

extension CofferError.Remedy {
    /// The remedy as one or more sentences, including the command that carries it out.
    package var sentence: String { Self.sentences[self] ?? "" }

    /// The sentences for all remedies in the library. One of the package's own checks reports any remedy
    /// without a sentence.
    private static let sentences = vaultSentences.merging(fileSentences) { $1 }
        .merging(protectionSentences) { $1 }
        .merging(serverSentences) { $1 }

    private static let vaultSentences: [CofferError.Remedy: String] = [
        .createVault: "Create a vault with coffer init.",
        .returnOrCreateVault:
            "If the vault was moved, put it back; otherwise, create a vault with coffer init.",
        .activateVault: "Activate the vault again with coffer init.",
        .unlockVault: "Specify its passcode with --passcode-fd, or run coffer unlock first.",
        .unlockAgain: "Run the command again: it takes the new keys.",
        .restoreVault: "Restore the vault directory from a backup.",
        .restoreOrWipeVault: """
        Restore the vault directory from a backup, or erase the vault with coffer wipe --yes --home \
        DIRECTORY.
        """,
        .useNewerRelease: "Use a newer release, or restore the vault directory from a backup.",
        .upgradeVault: "Make a backup with coffer backup create, then run coffer upgrade.",
        .createBackup: "Make one with coffer backup create, or specify --no-backup.",
        .restoreKeyring: "Restore the desktop keyring from a backup.",
        .restoreKeyringOrWipeVault: """
        Restore the desktop keyring from a backup, or erase the vault with coffer wipe --yes --home \
        DIRECTORY.
        """,
        .createRecoveryKey: "Make one with coffer recovery create.",
        .useRecoveryKey: "If you have the vault's recovery key, run coffer recovery use.",
        .setAnchor: "Set one with coffer anchor set.",
        .resetAnchors: """
        If you put this copy here yourself, or the anchor is gone for good, run coffer anchor reset, or \
        coffer anchor remove, with the passcode.
        """,
        .eraseUserVault: "Erase that vault with coffer wipe --yes --home DIRECTORY, then try again.",
        .removeDirectory: """
        If the directory was a vault, remove it yourself, and remove the vault's keys from the kernel \
        keyring with coffer lock --all; the keys of the afterFirstUnlock classes stay until a reboot.
        """,
        .restoreOrRemoveOrders: """
        Restore the vault's orders file from a backup, or remove it and trust the keys again with coffer \
        remote-wipe trust-key.
        """,
        .wipeAgain:
            "To see what remains, repeat the wipe with coffer wipe --yes and --user NAME or --tokens.",
        .restoreOrWipeTokens: """
        Restore the vault's tokens file from a backup. Without a backup, erase only the tokens with coffer \
        wipe --yes --tokens --home DIRECTORY, then import an export; the files stay, but the vault's \
        databases are lost with their keys.
        """,
        .restoreOrReplaceToken: """
        Restore the vault directory from a backup, or remove the token with coffer token remove and store \
        it again.
        """,
        .replaceDamagedTokens: """
        Store the damaged value again, then remove the damaged copy with coffer token purge-corrupt.
        """,
        .purgeCorruptTokens: "Remove the damaged tokens with coffer token purge-corrupt.",
        .storeTokenAgain: """
        Check where the token comes from, then store it with coffer token put while the vault is unlocked.
        """,
        .useAnotherCopy: "Use another copy of the file.",
        .allowExpensiveDerivation: "If you trust the file's author, specify --allow-expensive.",
        .convertPlainDatabase: "Use coffer database convert with --from plain.",
        .specifySQLCipherVersion: """
        Other versions and settings of SQLCipher have formats and options of their own, which coffer help \
        database lists.
        """,
        .specifySalt: "The options for the salt and the header are --salt-hex and --clear-header.",
    ]

    private static let fileSentences: [CofferError.Remedy: String] = [
        .listFiles: "Run coffer file list to see the names and ids of all files.",
        .removeUnfinishedFiles: "To remove them now, run coffer file list.",
        .restoreOrRemoveFile: """
        Restore the container from a backup of the vault directory, or remove the file with coffer file \
        remove ID.
        """,
        .restoreOrReindexFile: """
        Restore the right container from a backup of the vault directory, or add this container to the \
        index with coffer file reindex.
        """,
        .removeOrReindexFile: """
        Remove the container with coffer file remove ID, or, if it is yours, add it to the index with \
        coffer file reindex.
        """,
        .reindexFiles: "Run coffer file reindex to rebuild the index from the containers.",
        .verifyAndReindexFiles: """
        Check every file with coffer file verify --all, then add the files to the index with coffer file \
        reindex.
        """,
        .viewByDescriptor: "View the file with --descriptor, or use coffer file cat.",
        .readWithoutCopy: "Use coffer file cat or coffer file export instead.",
        .specifyContext: "Specify the same --context as when the file was added.",
        .omitContext: "Omit --context.",
        .keepOriginal: "Omit --remove-original, or copy the file elsewhere first.",
    ]

    private static let protectionSentences: [CofferError.Remedy: String] = [
        .setPasscode: "Set a passcode with coffer passcode set.",
        .setPasscodeAndUnlock: "Set a passcode with coffer passcode set, then unlock the vault.",
        .useLongerPasscode: "Use a longer passcode, with letters.",
        .useWhenUnlockedClass: "Use a whenUnlocked class.",
        .useThisDeviceOnlyClass: "Use a ThisDeviceOnly class.",
        .encryptDisk: "Keep the vault on an encrypted disk and out of backups that others can read.",
        .lockManually: "Lock the vault yourself with coffer lock.",
        .watchSession: "Run coffer watch in the desktop session.",
        .removeKernelKeys: """
        Remove unneeded keys with coffer lock --all. The keys of the afterFirstUnlock classes stay until \
        their vault is wiped or the machine restarts; keyctl unlink KEY @u removes a key of a vault that no \
        longer exists.
        """,
        .limitDocumentedSchemes: """
        Use the schemes (coffer key documented, coffer crypt) only for data that is already encrypted with \
        them.
        """,
    ]

    private static let serverSentences: [CofferError.Remedy: String] = [
        .signIn: "Run coffer oauth login NAME, with the same --account if the session has one.",
        .acceptEndpoints: """
        If the server's operator announces the new endpoints, accept them: run coffer oauth profile update \
        again with the same options and --accept.
        """,
        .addProfile:
            "Run coffer oauth profile list to see all profiles, or add one with coffer oauth profile add.",
        .allowHost: """
        If the host belongs to the service, run coffer oauth profile update NAME with --host for it and for \
        each host that coffer oauth profile show NAME prints: the new list replaces the old one.
        """,
        .removeProfile: """
        Remove the profile with coffer oauth profile remove NAME, then add it again.
        """,
        .trustAuthority: """
        If the certificate comes from an authority of your own, trust it with coffer oauth profile update \
        NAME --ca-file FILE; coffer oauth profile show NAME prints the authorities and pins.
        """,
        .enterEndpoint: """
        Enter the URL from the server's documentation with coffer oauth profile update NAME \
        --endpoint ENDPOINT=URL --accept; --endpoint may be repeated.
        """,
        .storeClientSecret:
            "Store it with coffer oauth profile update NAME --client-secret-fd N, such as 3 with 3<FILE.",
        .storeClientKey:
            "Make a key with coffer oauth key create NAME, or store one with coffer oauth key import NAME.",
        .storeClientCertificate:
            "Store both with coffer oauth key import NAME --key-fd N --certificate FILE.",
        .renewCertificate: """
        Request a new one with coffer key csr and install it with coffer key install, or make one with \
        coffer key self-signed --replace.
        """,
        .convertKey: "Convert it with openssl pkcs8 -topk8 -nocrypt.",
        .checkIssuer: """
        If this is the server that you mean, remove the profile and add it again with this --issuer; the \
        difference is often only a slash at the end.
        """,
        .correctPolicy: """
        See all findings with coffer policy check FILE. Only the administrator of this machine can correct \
        the files; until then, lock, wipe and status work.
        """,
        .changePasscode: "Change the passcode with coffer passcode change.",
        .restorePolicyRecord: """
        Have the administrator sign the policy again and take it with coffer policy take FILE, or restore \
        the vault directory from a backup; until then, lock, wipe and status work.
        """,
        .enterPasscode: "Enter the passcode on a terminal, or specify it with --passcode-fd.",
        .signInElsewhere: """
        Sign in with coffer oauth login NAME --no-browser, or on another device with --device.
        """,
    ]
}

extension CofferError {
    /// The message on one line, followed by the sentences for the error's remedy.
    package var advice: String { (message + (remedy.map { " " + $0.sentence } ?? "")).printable }
}

extension JSONDocument {
    /// Returns a remedy's name and its sentences as members of a JSON object.
    package static func members(of remedy: CofferError.Remedy?) -> [(String, JSONDocument)] {
        [
            ("remedy", remedy.map { .text($0.name) } ?? .none),
            ("advice", remedy.map { .text($0.sentence) } ?? .none),
        ]
    }
}
