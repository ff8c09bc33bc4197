package import CofferBase
import CSodium

/// The initialization and the version of libsodium.
package enum SodiumLibrary {
    private static let ready = sodium_init() >= 0

    /// Initializes libsodium on the first call. Later calls only check the result.
    package static func start() throws(CofferError) {
        guard ready else { throw CofferError(.internalFailure, "libsodium could not be initialized.") }
    }

    /// The version of libsodium in use.
    package static var version: String { unsafe String(cString: sodium_version_string()) }
}
