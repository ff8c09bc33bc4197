import ArgumentParser
import Coffer
import CofferCommandLine

/// The ciphers for a container's outer layer, as the words that specify them on the command line.
enum OuterCipherArgument: String, CaseIterable, ExpressibleByArgument {
    case chaCha20Poly1305 = "chacha20-poly1305"
    case aes256GCM = "aes-256-gcm"

    var suite: ContainerCipherSuite { self == .aes256GCM ? .aes256GCM : .chaCha20Poly1305 }
}

/// The actions to take after the issuer has revoked a token, as the words that specify them on the command
/// line.
enum RevocationArgument: String, CaseIterable, ExpressibleByArgument {
    case wipe
    case wipeAll = "wipe-all"
    case lock, keep

    /// The end of the sentence that reports this action to the user.
    var outcome: String {
        switch self {
        case .wipe:
            "all tokens for this service and account were erased, with the vault of a user of that name"
        case .wipeAll: "the whole vault was erased"
        case .lock: "the vault was locked"
        case .keep: "the stored token was kept"
        }
    }

    var policy: RevocationPolicy {
        switch self {
        case .wipe: .wipe(.account)
        case .wipeAll: .wipe(.all)
        case .lock: .lock
        case .keep: .keep
        }
    }
}
