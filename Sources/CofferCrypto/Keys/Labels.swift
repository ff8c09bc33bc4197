/// Every key-derivation label of the package, each written once.
///
/// A label keeps the keys of one purpose apart from those of every other; changing one makes stored data
/// unreadable.
package enum Label {
    package static let deviceMAC = "coffer/device-mac/v1"
    package static let classKeyWrapping = "coffer/class-key-wrap/v1"
    package static let classInbox = "coffer/class-inbox/v1"
    package static let inboxMAC = "coffer/inbox-mac/v1"
    package static let keybagMAC = "coffer/keybag-mac/v1"
    package static let attemptsMAC = "coffer/attempts-mac/v1"
    package static let attemptTag = "coffer/attempt-tag/v1"
    package static let tokenFile = "coffer/token-file/v1"
    package static let tokenName = "coffer/token-name/v1"
    package static let tokenWrapping = "coffer/token-wrap/v1"
    package static let userNamespace = "coffer/user-namespace/v1"
    package static let deniedPasscode = "coffer/denied-passcode/v1"
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
    package static let fileIndexMAC = "coffer/file-index-mac/v1"
    package static let fileIndexSealing = "coffer/file-index/v1"
    package static let fileLayer = "coffer/file/v1"
    package static let cbcEncryption = "coffer/cbc-hmac/enc/v1"
    package static let cbcAuthentication = "coffer/cbc-hmac/mac/v1"
}
