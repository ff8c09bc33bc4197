package import CofferBase
import CSodium

/// Initializes libsodium once.
package enum SodiumLibrary {
    private static let ready = sodium_init() >= 0

    /// Initializes the library on first use; later calls only check the result.
    package static func start() throws(CofferError) {
        guard ready else { throw CofferError(.internalFailure, "libsodium could not be initialized.") }
    }

    /// The version of the library in use.
    package static var version: String { unsafe String(cString: sodium_version_string()) }
}
