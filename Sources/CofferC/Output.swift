import CCoffer
import Coffer
import CofferBase

/// Where a C caller wants a result.
enum Output {
    /// Empties the place for a handle before the work begins, so that it has no old value after a failure.
    ///
    /// - Throws: `invalidInput` if the place is NULL.
    static func empty(
        _ place: UnsafeMutablePointer<OpaquePointer?>?, _ name: String
    ) throws(CofferError) -> UnsafeMutablePointer<OpaquePointer?> {
        guard let place = unsafe place else { throw Input.missing(name) }
        unsafe place.pointee = nil
        return unsafe place
    }

    /// Returns bytes to the caller.
    static func set(
        _ place: UnsafeMutablePointer<OpaquePointer?>, to bytes: Span<UInt8>
    ) throws(CofferError) {
        unsafe place.pointee = Handles.bytes.insert(try ReturnedBytes(copying: bytes))
    }

    /// Returns JSON to the caller.
    static func set(
        _ place: UnsafeMutablePointer<OpaquePointer?>, to json: JSONValue
    ) throws(CofferError) {
        let text = Array(try json.jsonText().utf8)
        unsafe try set(place, to: text.span)
    }

    /// Returns what `work` finds in a vault to the caller, as a JSON array. Returns the function's result.
    static func list(
        of vault: OpaquePointer?, to json: UnsafeMutablePointer<OpaquePointer?>?,
        _ error: UnsafeMutablePointer<coffer_error>?,
        _ work: @escaping @Sendable (Vault) async throws(CofferError) -> [JSONValue]
    ) -> Int32 {
        unsafe Call.perform(error) { () throws(CofferError) in
            let place = unsafe try empty(json, "json")
            unsafe try set(place, to: .array(OpenVault.of(vault).wait(for: work)))
        }
    }
}
