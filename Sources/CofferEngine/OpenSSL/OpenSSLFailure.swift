import CofferBase
import COpenSSL

/// Errors from OpenSSL calls, without the contents of OpenSSL's error queue.
package enum OpenSSLFailure {
    /// Clears OpenSSL's error queue and returns the error for a call that should not fail with valid
    /// arguments.
    static func unexpected(_ call: String) -> CofferError {
        ERR_clear_error()
        return CofferError(.internalFailure, "An OpenSSL operation failed unexpectedly: \(call).")
    }

    /// The version of the OpenSSL library in use.
    package static var libraryVersion: String {
        unsafe String(cString: OpenSSL_version(OPENSSL_VERSION_STRING_VALUE))
    }

    private static let OPENSSL_VERSION_STRING_VALUE: Int32 = 6
}
