public import CCoffer
import CofferBase

/// `coffer_bytes_data`.
@_cdecl("coffer_bytes_data")
public func data(of bytes: OpaquePointer?) -> UnsafePointer<UInt8>? {
    ForkMark.isForked ? nil : unsafe Handles.bytes.find(bytes)?.start
}

/// `coffer_bytes_length`.
@_cdecl("coffer_bytes_length")
public func length(of bytes: OpaquePointer?) -> Int {
    ForkMark.isForked ? 0 : unsafe Handles.bytes.find(bytes)?.count ?? 0
}

/// `coffer_bytes_free`.
@_cdecl("coffer_bytes_free")
public func free(_ bytes: OpaquePointer?) {
    guard !ForkMark.isForked else { return }
    _ = unsafe Handles.bytes.remove(bytes)
}

/// `coffer_abi_version`.
@_cdecl("coffer_abi_version")
public func interfaceVersion() -> Int32 { COFFER_ABI_VERSION }

// nonisolated(unsafe): nothing writes to the text after this, and it is never freed.
private nonisolated(unsafe) let release: UnsafePointer<CChar> = {
    let text = Array(PackageVersion.current.utf8CString)
    let copy = UnsafeMutablePointer<CChar>.allocate(capacity: text.count)
    unsafe copy.initialize(from: text, count: text.count)
    return unsafe UnsafePointer(copy)
}()

/// `coffer_version`.
@_cdecl("coffer_version")
public func version() -> UnsafePointer<CChar> { unsafe release }

/// `coffer_info`.
@_cdecl("coffer_info")
public func info(
    _ json: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<coffer_error>?
) -> Int32 {
    unsafe Call.perform(error) { () throws(CofferError) in
        let place = unsafe try Output.empty(json, "json")
        unsafe try Output.set(
            place,
            to: .object([
                "name": "coffer", "version": .string(PackageVersion.current),
                "abiVersion": .integer(Int64(COFFER_ABI_VERSION)),
                "features": .array(["tokens", "files", "refresh", "wipe"]),
            ]))
    }
}
