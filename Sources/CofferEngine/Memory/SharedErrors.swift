package import CofferBase

/// Errors that several bindings throw.
extension CofferError {
    /// The error that is thrown for every failed authentication.
    package static var notAuthentic: CofferError {
        CofferError(.notAuthentic, "The message is not authentic under this key.")
    }

    package static func wrongKeySize(_ count: Int) -> CofferError {
        CofferError(.invalidInput, "A key of \(count) bytes has the wrong size for this algorithm.")
    }

    package static func wrongNonceSize(_ count: Int) -> CofferError {
        CofferError(.invalidInput, "A nonce or IV of \(count) bytes has the wrong size for this algorithm.")
    }

    package static var wrongOutputSize: CofferError {
        CofferError(.invalidInput, "The output buffer has the wrong size.")
    }
}
