import CofferBase
import CofferCrypto
import CofferVault
import Glibc
import SystemPackage

/// Reads the arguments of C callers and refuses those that are not what the header asks for.
enum Input {
    /// The maximum length of text in bytes. Names are shorter; the limit ends the search for a NUL byte.
    private static let maxTextLength = 65_536

    /// Returns a text.
    ///
    /// - Throws: `invalidInput` if the pointer is NULL, or the text is too long or not UTF-8.
    static func text(_ pointer: UnsafePointer<CChar>?, _ name: String) throws(CofferError) -> String {
        guard let text = unsafe try optionalText(pointer, name) else { throw missing(name) }
        return text
    }

    /// Returns a text, or `nil` for NULL.
    static func optionalText(
        _ pointer: UnsafePointer<CChar>?, _ name: String
    ) throws(CofferError) -> String? {
        guard let pointer = unsafe pointer else { return nil }
        let count = unsafe strnlen(pointer, maxTextLength + 1)
        guard count <= maxTextLength else {
            throw CofferError(.invalidInput, "\(name) must be at most \(maxTextLength) bytes long.")
        }
        let bytes = unsafe UnsafeRawBufferPointer(start: pointer, count: count)
        guard let text = unsafe String(validating: bytes, as: UTF8.self) else {
            throw CofferError(.invalidInput, "\(name) must be UTF-8.")
        }
        return text
    }

    /// Returns a path, which may have any bytes but NUL.
    static func path(_ pointer: UnsafePointer<CChar>?, _ name: String) throws(CofferError) -> FilePath {
        guard let pointer = unsafe pointer else { throw missing(name) }
        let count = unsafe strnlen(pointer, maxTextLength + 1)
        guard (1...maxTextLength).contains(count) else {
            throw CofferError(.invalidInput, "\(name) must be 1 to \(maxTextLength) bytes long.")
        }
        return unsafe FilePath(platformString: pointer)
    }

    /// Returns the name of a stored file.
    static func fileName(_ pointer: UnsafePointer<CChar>?) throws(CofferError) -> FilePath.Component {
        let path = unsafe try path(pointer, "name")
        guard let name = path.lastComponent, path.components.count == 1, !path.isAbsolute,
            name.kind == .regular
        else { throw CofferError(.invalidInput, "A file's name must be a single path component.") }
        return name
    }

    /// Returns the location of a vault.
    static func location(
        _ home: UnsafePointer<CChar>?, _ user: UnsafePointer<CChar>?
    ) throws(CofferError) -> VaultLocation {
        let location =
            unsafe home == nil
            ? try VaultLocation.default(for: "coffer")
            : VaultLocation(path: unsafe try path(home, "home"))
        guard let user = unsafe try optionalText(user, "user") else { return location }
        return try location.namespace(of: user)
    }

    /// Calls `body` with the caller's bytes.
    ///
    /// - Throws: `invalidInput` if there are more than `limit`, or if the pointer is NULL and the length is
    ///   not 0; the error of `body`.
    static func withBytes<Result: ~Copyable>(
        _ pointer: UnsafePointer<UInt8>?, _ length: Int, _ name: String, limit: Int,
        _ body: (Span<UInt8>) throws(CofferError) -> Result
    ) throws(CofferError) -> Result {
        // A size_t above the range of a signed number arrives as a negative one.
        guard (0...limit).contains(length) else {
            throw CofferError(.invalidInput, "\(name) must be at most \(limit) bytes long.")
        }
        guard unsafe pointer != nil || length == 0 else { throw missing(name) }
        let buffer = unsafe UnsafeBufferPointer(start: pointer, count: length)
        return try body(unsafe buffer.span)
    }

    /// Throws `outOfMemory` if there is no room for a copy of as many bytes, for which Swift would end the
    /// process.
    static func requireRoom(_ count: Int) throws(CofferError) {
        guard count > 0 else { return }
        let place = unsafe mmap(nil, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let place = unsafe place, unsafe place != MAP_FAILED else {
            throw CofferError(
                .outOfMemory,
                "There is not enough memory for a copy of \(count) bytes. Store the content from a file.")
        }
        unsafe munmap(place, count)
    }

    /// Returns a passcode; `nil` for NULL and 0.
    static func passcode(
        _ pointer: UnsafePointer<UInt8>?, _ length: Int
    ) throws(CofferError) -> Passcode? {
        guard unsafe pointer != nil || length != 0 else { return nil }
        return unsafe try withBytes(pointer, length, "The passcode", limit: 65_536) {
            (bytes) throws(CofferError) in try Passcode(SecretBytes.copying(bytes))
        }
    }

    /// The error for an argument that must not be NULL.
    static func missing(_ name: String) -> CofferError {
        CofferError(.invalidInput, "\(name) must not be NULL.")
    }
}
