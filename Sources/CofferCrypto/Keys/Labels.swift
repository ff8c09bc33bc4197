/// The package's key-derivation labels.
///
/// A label separates the keys for one purpose from those for every other purpose. Changing a label makes
/// stored data unreadable.
package enum KDFLabel {
    package static let deviceMAC = "coffer/device-mac/v1"
    package static let classKeyWrapping = "coffer/class-key-wrap/v1"
    package static let classInbox = "coffer/class-inbox/v1"
    package static let inboxMAC = "coffer/inbox-mac/v1"
    package static let keybagMAC = "coffer/keybag-mac/v1"
    package static let attemptsMAC = "coffer/attempts-mac/v1"
    package static let attemptWitness = "coffer/attempt-witness/v1"
    package static let attemptTag = "coffer/attempt-tag/v1"
    package static let ordersMAC = "coffer/orders-mac/v1"
    package static let deviceID = "coffer/device-id/v1"
    package static let tokenFile = "coffer/token-file/v1"
    package static let tokenName = "coffer/token-name/v1"
    package static let tokenWrapping = "coffer/token-wrap/v1"
    package static let tokenReplacement = "coffer/token-replacement/v1"
    package static let userNamespace = "coffer/user-namespace/v1"
    package static let deniedPasscode = "coffer/denied-passcode/v1"
    package static let heldKey = "coffer/held-key/v1"
    package static let volatileToken = "coffer/volatile-token/v1"
    package static let volatileFileID = "coffer/volatile-file-id/v1"
    package static let volatileFileKEK = "coffer/volatile-file-kek/v1"
    package static let exportMAC = "coffer/export-mac/v1"
    package static let exportSealing = "coffer/export/v1"
    package static let hostBinding = "coffer/host-binding/v1"
    package static let keyringTokens = "coffer/keyring-tokens/v1"
    package static let keyringDeviceKey = "coffer/keyring-device-key/v1"
    package static let deviceKeyWrapping = "coffer/device-key-wrap/v1"
    package static let fileOuterKEK = "coffer/file-outer-kek/v1"
    package static let fileInnerKEK = "coffer/file-inner-kek/v1"
    package static let fileKeysMAC = "coffer/file-keys-mac/v1"
    package static let fileOuterWrapping = "coffer/file-outer-key-wrap/v1"
    package static let fileInnerWrapping = "coffer/file-inner-key-wrap/v1"
    package static let fileIndexCommit = "coffer/file-index-commit/v1"
    package static let fileIndexMAC = "coffer/file-index-mac/v1"
    package static let fileIndexSealing = "coffer/file-index/v1"
    package static let fileLayer = "coffer/file/v1"
    package static let cbcEncryption = "coffer/cbc-hmac/enc/v1"
    package static let cbcAuthentication = "coffer/cbc-hmac/mac/v1"
}

/// The key-derivation labels of the age format, version 1.
package enum AgeLabel {
    package static let header = "header"
    package static let payload = "payload"
    package static let x25519 = "age-encryption.org/v1/X25519"
    package static let scrypt = "age-encryption.org/v1/scrypt"
}
