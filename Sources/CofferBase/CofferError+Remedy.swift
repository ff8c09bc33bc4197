extension CofferError {
    /// A step that may resolve an error. The library only identifies the step; the application describes the
    /// step in terms of its own user interface. New remedies may appear in a minor release, so a `switch`
    /// over them needs a `default`.
    public struct Remedy: Sendable, Hashable, CaseIterable {
        private enum Kind: String, CaseIterable {
            case createVault, returnOrCreateVault, activateVault, unlockVault, unlockAgain
            case restoreVault, restoreOrWipeVault, useNewerRelease, upgradeVault, createBackup
            case restoreKeyring, restoreKeyringOrWipeVault
            case createRecoveryKey, useRecoveryKey, setAnchor, resetAnchors
            case eraseUserVault, removeDirectory, restoreOrRemoveOrders, wipeAgain
            case restoreOrWipeTokens, restoreOrReplaceToken, replaceDamagedTokens, purgeCorruptTokens
            case storeTokenAgain
            case useAnotherCopy, allowExpensiveDerivation, convertPlainDatabase, specifySalt
            case specifySQLCipherVersion
            case listFiles, removeUnfinishedFiles, restoreOrRemoveFile, restoreOrReindexFile
            case removeOrReindexFile, reindexFiles, verifyAndReindexFiles
            case viewByDescriptor, readWithoutCopy, specifyContext, omitContext, keepOriginal
            case setPasscode, setPasscodeAndUnlock, useLongerPasscode, useWhenUnlockedClass
            case useThisDeviceOnlyClass, encryptDisk, lockManually, watchSession, removeKernelKeys
            case limitDocumentedSchemes
            case signIn, acceptEndpoints, addProfile, allowHost, removeProfile
            case trustAuthority, enterEndpoint, storeClientSecret, storeClientKey, storeClientCertificate
            case convertKey, checkIssuer, signInElsewhere, renewCertificate
            case correctPolicy, changePasscode, restorePolicyRecord, enterPasscode
        }

        private let kind: Kind

        /// The remedy's name, which is stable across releases and appears in the output of `coffer --json`.
        public var name: String { kind.rawValue }

        /// Every remedy that this release defines.
        public static var allCases: [Remedy] { Kind.allCases.map { Remedy(kind: $0) } }

        // MARK: Vaults

        /// Create a vault.
        public static let createVault = Remedy(kind: .createVault)
        /// Put the vault directory back if it was moved away; otherwise create a vault.
        public static let returnOrCreateVault = Remedy(kind: .returnOrCreateVault)
        /// Activate the wiped vault again.
        public static let activateVault = Remedy(kind: .activateVault)
        /// Unlock the vault.
        public static let unlockVault = Remedy(kind: .unlockVault)
        /// Unlock the vault again, because its keys were replaced, and repeat the operation.
        public static let unlockAgain = Remedy(kind: .unlockAgain)
        /// Keep the vault's number in another place.
        public static let setAnchor = Remedy(kind: .setAnchor)
        /// Set the vault's anchors again, or remove the one that is lost, with the passcode.
        public static let resetAnchors = Remedy(kind: .resetAnchors)
        /// Restore the vault directory from a backup.
        public static let restoreVault = Remedy(kind: .restoreVault)
        /// Restore the vault directory from a backup, or wipe the vault.
        public static let restoreOrWipeVault = Remedy(kind: .restoreOrWipeVault)
        /// Use the newer release that wrote the data, or restore the vault directory from a backup.
        public static let useNewerRelease = Remedy(kind: .useNewerRelease)
        /// Make a backup, then upgrade the vault.
        public static let upgradeVault = Remedy(kind: .upgradeVault)
        /// Make a backup, or do without one.
        public static let createBackup = Remedy(kind: .createBackup)
        /// Restore the desktop keyring from a backup.
        public static let restoreKeyring = Remedy(kind: .restoreKeyring)
        /// Restore the desktop keyring from a backup, or wipe the vault.
        public static let restoreKeyringOrWipeVault = Remedy(kind: .restoreKeyringOrWipeVault)
        /// Make a recovery key, or a new one in place of one that no longer works.
        public static let createRecoveryKey = Remedy(kind: .createRecoveryKey)
        /// Open the vault with its recovery key.
        public static let useRecoveryKey = Remedy(kind: .useRecoveryKey)
        /// Wipe the user's vault at the path in the message, then try again.
        public static let eraseUserVault = Remedy(kind: .eraseUserVault)
        /// Remove the directory, which does not contain a recognizable vault, and any keys left in the kernel
        /// keyring.
        public static let removeDirectory = Remedy(kind: .removeDirectory)
        /// Restore the signed-command record from a backup, or remove the record and trust the keys again.
        public static let restoreOrRemoveOrders = Remedy(kind: .restoreOrRemoveOrders)
        /// Repeat the wipe that a signed command could not finish, to see what remains.
        public static let wipeAgain = Remedy(kind: .wipeAgain)

        // MARK: Tokens and databases

        /// Restore the token file from a backup, or wipe the tokens and import an export.
        public static let restoreOrWipeTokens = Remedy(kind: .restoreOrWipeTokens)
        /// Restore the vault directory from a backup, or remove the token and store it again.
        public static let restoreOrReplaceToken = Remedy(kind: .restoreOrReplaceToken)
        /// Store damaged pending tokens again, and remove the damaged copies.
        public static let replaceDamagedTokens = Remedy(kind: .replaceDamagedTokens)
        /// Remove the file-system entry that occupies the location for pending tokens.
        public static let purgeCorruptTokens = Remedy(kind: .purgeCorruptTokens)
        /// Check where the token comes from, then store it again while the vault is unlocked.
        public static let storeTokenAgain = Remedy(kind: .storeTokenAgain)
        /// Use another copy of the file.
        public static let useAnotherCopy = Remedy(kind: .useAnotherCopy)
        /// Allow an expensive key derivation (`allowingExpensive`) if you trust the author of the file.
        public static let allowExpensiveDerivation = Remedy(kind: .allowExpensiveDerivation)
        /// Convert the unencrypted database with `EncryptedDatabase.encrypt`.
        public static let convertPlainDatabase = Remedy(kind: .convertPlainDatabase)
        /// Open the database with its salt and the length of its plaintext header, as with
        /// `DatabaseKey.sqlcipher4(_:salt:plaintextHeader:)`.
        public static let specifySalt = Remedy(kind: .specifySalt)
        /// If another version of SQLCipher wrote the database, or the database has other settings than that
        /// version's defaults, specify them.
        public static let specifySQLCipherVersion = Remedy(kind: .specifySQLCipherVersion)

        // MARK: Files

        /// List the files to see their ids.
        public static let listFiles = Remedy(kind: .listFiles)
        /// List the files. Listing also removes what interrupted additions and removals left behind.
        public static let removeUnfinishedFiles = Remedy(kind: .removeUnfinishedFiles)
        /// Restore the file's container from a backup of the vault directory, or remove the file.
        public static let restoreOrRemoveFile = Remedy(kind: .restoreOrRemoveFile)
        /// Restore the correct container, or add the existing container to the index.
        public static let restoreOrReindexFile = Remedy(kind: .restoreOrReindexFile)
        /// Remove the container, or add it to the index if it is yours.
        public static let removeOrReindexFile = Remedy(kind: .removeOrReindexFile)
        /// Rebuild the index from the containers.
        public static let reindexFiles = Remedy(kind: .reindexFiles)
        /// Verify all files, then rebuild the index.
        public static let verifyAndReindexFiles = Remedy(kind: .verifyAndReindexFiles)
        /// View the file through a descriptor, or read it.
        public static let viewByDescriptor = Remedy(kind: .viewByDescriptor)
        /// Read or export the file instead of viewing a copy.
        public static let readWithoutCopy = Remedy(kind: .readWithoutCopy)
        /// Specify the context with which the file was added.
        public static let specifyContext = Remedy(kind: .specifyContext)
        /// Open the file without a context.
        public static let omitContext = Remedy(kind: .omitContext)
        /// Add the file without removing the original, or copy it elsewhere first.
        public static let keepOriginal = Remedy(kind: .keepOriginal)

        // MARK: Protection

        /// Set a passcode.
        public static let setPasscode = Remedy(kind: .setPasscode)
        /// Set a passcode, then unlock the vault.
        public static let setPasscodeAndUnlock = Remedy(kind: .setPasscodeAndUnlock)
        /// Use a longer passcode that contains letters.
        public static let useLongerPasscode = Remedy(kind: .useLongerPasscode)
        /// Use one of the `whenUnlocked` protection classes.
        public static let useWhenUnlockedClass = Remedy(kind: .useWhenUnlockedClass)
        /// Use one of the `ThisDeviceOnly` protection classes.
        public static let useThisDeviceOnlyClass = Remedy(kind: .useThisDeviceOnlyClass)
        /// Keep the vault on an encrypted disk and out of backups that others can read.
        public static let encryptDisk = Remedy(kind: .encryptDisk)
        /// Lock the vault manually.
        public static let lockManually = Remedy(kind: .lockManually)
        /// Keep a program that follows the lock triggers running in the desktop session.
        public static let watchSession = Remedy(kind: .watchSession)
        /// Remove unneeded keys from the kernel keyring.
        public static let removeKernelKeys = Remedy(kind: .removeKernelKeys)
        /// Use the documented schemes only for data that already uses them.
        public static let limitDocumentedSchemes = Remedy(kind: .limitDocumentedSchemes)

        // MARK: Policy

        /// Have the administrator check the policy's files and correct them.
        public static let correctPolicy = Remedy(kind: .correctPolicy)
        /// Change the passcode to one that the administrator's policy allows.
        public static let changePasscode = Remedy(kind: .changePasscode)
        /// Take the administrator's signed policy again, or restore the vault directory from a backup.
        public static let restorePolicyRecord = Remedy(kind: .restorePolicyRecord)
        /// Give the passcode of the vault with this call.
        public static let enterPasscode = Remedy(kind: .enterPasscode)

        // MARK: Servers

        /// Sign in.
        public static let signIn = Remedy(kind: .signIn)
        /// Compare the server's new endpoints with what its operator announces, then update the profile and
        /// accept them.
        public static let acceptEndpoints = Remedy(kind: .acceptEndpoints)
        /// Add the profile, or list the profiles to find its name.
        public static let addProfile = Remedy(kind: .addProfile)
        /// If the host belongs to the service, add it to the profile's resource hosts.
        public static let allowHost = Remedy(kind: .allowHost)
        /// Remove the damaged profile and add it again.
        public static let removeProfile = Remedy(kind: .removeProfile)
        /// If the server's certificate comes from an authority that the system does not know, enter this
        /// authority in the profile's trust.
        public static let trustAuthority = Remedy(kind: .trustAuthority)
        /// Enter the endpoint from the server's documentation in the profile's endpoints.
        public static let enterEndpoint = Remedy(kind: .enterEndpoint)
        /// Store the client secret beside the profile.
        public static let storeClientSecret = Remedy(kind: .storeClientSecret)
        /// Store a private key of the client beside the profile.
        public static let storeClientKey = Remedy(kind: .storeClientKey)
        /// Store the client's certificate and its private key beside the profile.
        public static let storeClientCertificate = Remedy(kind: .storeClientCertificate)
        /// Convert the private key to an unencrypted PKCS #8 file.
        public static let convertKey = Remedy(kind: .convertKey)
        /// Request a new certificate for the key pair and install it, or make another self-signed one.
        public static let renewCertificate = Remedy(kind: .renewCertificate)
        /// Add a profile with the issuer exactly as the server writes it.
        public static let checkIssuer = Remedy(kind: .checkIssuer)
        /// Sign in without the browser of this machine, or on another device.
        public static let signInElsewhere = Remedy(kind: .signInElsewhere)
    }
}
