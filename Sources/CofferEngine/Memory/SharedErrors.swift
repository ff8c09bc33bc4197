package import CofferBase

/// Errors that several bindings throw.
extension CofferError {
    /// The error that is thrown for every failed authentication.
    package static var notAuthentic: CofferError {
        CofferError(.notAuthentic, "The message could not be authenticated with this key.")
    }

    package static func wrongKeySize(_ count: Int) -> CofferError {
        CofferError(.invalidInput, "The key has \(count) bytes, which is the wrong size for this algorithm.")
    }

    package static func wrongNonceSize(_ count: Int) -> CofferError {
        CofferError(
            .invalidInput, "The nonce or IV has \(count) bytes, which is the wrong size for this algorithm.")
    }

    package static var wrongOutputSize: CofferError {
        CofferError(.invalidInput, "The output buffer has the wrong size.")
    }
}
