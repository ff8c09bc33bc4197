public import CCoffer
import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import FoundationEssentials
import SystemPackage

/// `coffer_file_add`.
@_cdecl("coffer_file_add")
public func addFile(
    _ vault: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ content: UnsafePointer<UInt8>?, _ length: Int,
    _ id: UnsafeMutablePointer<CChar>?, _ error: UnsafeMutablePointer<coffer_error>?
) -> Int32 {
    unsafe Call.perform(error) { () throws(CofferError) in
        guard let place = unsafe id else { throw Input.missing("id") }
        let open = unsafe try OpenVault.of(vault)
        let name = unsafe try Input.fileName(name)
        let bytes = unsafe try Input.withBytes(content, length, "The content", limit: Int.max / 2) {
            (bytes) throws(CofferError) in
            try Input.requireRoom(bytes.count)
            return bytes.copied()
        }
        let added = try open.wait { (vault) async throws(CofferError) in
            try await vault.files.add(bytes, name: name)
        }
        unsafe added.write(to: place)
    }
}

/// `coffer_file_add_path`.
@_cdecl("coffer_file_add_path")
public func addFile(
    _ vault: OpaquePointer?, at path: UnsafePointer<CChar>?, _ id: UnsafeMutablePointer<CChar>?,
    _ error: UnsafeMutablePointer<coffer_error>?
) -> Int32 {
    unsafe Call.perform(error) { () throws(CofferError) in
        guard let place = unsafe id else { throw Input.missing("id") }
        let open = unsafe try OpenVault.of(vault)
        let path = unsafe try Input.path(path, "path")
        let added = try open.wait { (vault) async throws(CofferError) in
            try await vault.files.add(contentsOf: path)
        }
        unsafe added.write(to: place)
    }
}

/// `coffer_file_read_at`.
@_cdecl("coffer_file_read_at")
public func readFile(
    _ vault: OpaquePointer?, _ id: UnsafePointer<CChar>?, _ offset: UInt64,
    _ buffer: UnsafeMutablePointer<UInt8>?, _ size: Int, _ count: UnsafeMutablePointer<Int>?,
    _ error: UnsafeMutablePointer<coffer_error>?
) -> Int32 {
    unsafe Call.perform(error) { () throws(CofferError) in
        guard let count = unsafe count else { throw Input.missing("count") }
        unsafe count.pointee = 0
        guard size >= 0, unsafe buffer != nil || size == 0 else {
            throw CofferError(.invalidInput, "The buffer must not be NULL, nor longer than memory can be.")
        }
        let open = unsafe try OpenVault.of(vault)
        let id = try FileID(unsafe Input.text(id, "id"))
        let start = Int64(clamping: offset)
        // The bytes come in a copy: after the deadline, the work must not write to the caller's memory.
        let content = try open.wait { (vault) async throws(CofferError) in
            let reader = try await vault.files.reader(for: id)
            return try await BlockingExecutor.run { _ throws(CofferError) in
                try ReadContent(reader, at: start, limit: size)
            }
        }
        unsafe count.pointee = content.copy(to: buffer)
    }
}

/// `coffer_file_list`.
@_cdecl("coffer_file_list")
public func listFiles(
    _ vault: OpaquePointer?, _ json: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<coffer_error>?
) -> Int32 {
    unsafe Output.list(of: vault, to: json, error) { (vault) async throws(CofferError) in
        try await vault.files.list().map(\.json)
    }
}

/// `coffer_file_rename`.
@_cdecl("coffer_file_rename")
public func renameFile(
    _ vault: OpaquePointer?, _ id: UnsafePointer<CChar>?, _ name: UnsafePointer<CChar>?,
    _ error: UnsafeMutablePointer<coffer_error>?
) -> Int32 {
    unsafe Call.perform(error) { () throws(CofferError) in
        let open = unsafe try OpenVault.of(vault)
        let id = try FileID(unsafe Input.text(id, "id"))
        let name = unsafe try Input.fileName(name)
        try open.wait { (vault) async throws(CofferError) in try await vault.files.rename(id, to: name) }
    }
}

/// `coffer_file_remove`.
@_cdecl("coffer_file_remove")
public func removeFile(
    _ vault: OpaquePointer?, _ id: UnsafePointer<CChar>?, _ error: UnsafeMutablePointer<coffer_error>?
) -> Int32 {
    unsafe Call.perform(error) { () throws(CofferError) in
        let open = unsafe try OpenVault.of(vault)
        let id = try FileID(unsafe Input.text(id, "id"))
        let wasThere = try open.wait { (vault) async throws(CofferError) in try await vault.files.remove(id) }
        guard wasThere else { throw CofferError(.absent, "There is no such file.") }
    }
}

/// A part of a file, which is cleared with this object.
private final class ReadContent: Sendable {
    private let secret: SecretBytes

    init(_ reader: StoredFileReader, at offset: Int64, limit: Int) throws(CofferError) {
        let there = Int(clamping: max(0, reader.length - offset))
        var bytes = try GuardedBytes.zeroed(count: min(limit, there))
        var span = bytes.mutableSpan
        let count = try reader.read(at: offset, into: &span)
        bytes.shrink(to: count)
        secret = SecretBytes(bytes)
    }

    /// Copies the bytes to a C caller's buffer, which has room for them. Returns their number.
    func copy(to buffer: UnsafeMutablePointer<UInt8>?) -> Int {
        secret.exposing { bytes in
            for index in bytes.indices { unsafe buffer?[index] = bytes[index] }
            return bytes.count
        }
    }
}

extension FileID {
    /// Writes the id and a NUL byte, 37 bytes, to a C caller's memory.
    fileprivate func write(to place: UnsafeMutablePointer<CChar>) {
        for (index, byte) in description.utf8.enumerated() { unsafe place[index] = CChar(bitPattern: byte) }
        unsafe place[description.utf8.count] = 0
    }
}

extension FileInfo {
    fileprivate var json: JSONValue {
        .object([
            "id": .string(id.description), "name": .string(name.string), "length": .integer(length),
            "modified": .number(modified.timeIntervalSince1970), "class": .string(protection.name),
            "state": .string(state.rawValue), "isVolatile": .bool(isVolatile),
        ])
    }
}
