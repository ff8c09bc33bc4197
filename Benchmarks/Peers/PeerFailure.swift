import CofferBase

/// The error of a peer that fails its work: figures would be meaningless.
enum PeerFailure {
    static func failed(_ call: String) -> CofferError {
        CofferError(.internalFailure, "The peer's \(call) failed.")
    }

    static func check(_ holds: Bool, _ call: String) throws(CofferError) {
        guard holds else { throw failed(call) }
    }

    static func checked(_ pointer: OpaquePointer?, _ call: String) throws(CofferError) -> OpaquePointer {
        guard let pointer = unsafe pointer else { throw failed(call) }
        return unsafe pointer
    }
}
