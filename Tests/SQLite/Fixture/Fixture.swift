import CofferEngine
import CofferEngineSQLite
import Glibc

/// The key of every database that SQLite's own tests open.
private enum SuiteKey {
    /// The size that SQLite's tests count with.
    private static let pageSize = 1024

    /// Kept for as long as the process runs; `nil` when the environment names no codec.
    static let handle: DatabaseKeyHandle? = {
        guard let name = unsafe getenv("COFFER_SUITE").map({ unsafe String(cString: $0) }),
            let format = CodecFormat(rawValue: name),
            let key = try? GuardedBytes.copying([UInt8](0..<32).span)
        else { return nil }
        // With the salt, as keys of a vault have it: a garbled first page must not take it along.
        let salt = [UInt8](repeating: 9, count: CodecFormat.saltSize)
        return try? DatabaseKeyHandle.register(format, secret: key, salt: salt, pageSize: pageSize)
    }()
}

/// Registers the VFS and the tests' key; returns the token under which the VFS knows it, in memory that
/// stays.
@_cdecl("coffer_suite_token")
public func cofferSuiteToken() -> UnsafeMutablePointer<CChar>? {
    guard let token = SuiteKey.handle?.uri(for: "/").split(separator: "=").last else { return nil }
    return unsafe strdup(String(token))
}
