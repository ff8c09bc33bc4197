import CCoffer
import Coffer
import CofferBase
import CofferVault
import FoundationEssentials

/// How a C caller wants a token stored.
struct PutOptions: Sendable {
    private(set) var protection: ProtectionClass?
    private(set) var expires: Date?
    private(set) var scopes: [String]?
    private(set) var isVolatile = false
    private(set) var precondition = Precondition.any
    private var label: String?

    /// Reads the caller's structure; NULL stands for the defaults.
    ///
    /// - Throws: `invalidInput` if it is not what the header describes.
    init(_ pointer: UnsafePointer<coffer_token_options>?) throws(CofferError) {
        guard let pointer = unsafe pointer else { return }
        let size = unsafe pointer.pointee.size
        guard unsafe size >= MemoryLayout<coffer_token_options>.size else { throw Self.invalid }
        let wanted = unsafe pointer.pointee
        let flags = unsafe wanted.flags
        let known = COFFER_TOKEN_IF_ABSENT | COFFER_TOKEN_IF_VERSION | COFFER_TOKEN_VOLATILE
        let conditions = flags & (COFFER_TOKEN_IF_ABSENT | COFFER_TOKEN_IF_VERSION)
        guard flags & ~known == 0, conditions != COFFER_TOKEN_IF_ABSENT | COFFER_TOKEN_IF_VERSION else {
            throw Self.invalid
        }
        protection = unsafe try ProtectionClass.of(wanted.protection_class)
        expires = try Date.expiry(unsafe wanted.expires)
        scopes = unsafe try Input.optionalText(wanted.scopes, "scopes").map { text in
            text.utf8.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
        }
        label = unsafe try Input.optionalText(wanted.label, "label")
        isVolatile = flags & COFFER_TOKEN_VOLATILE != 0
        if conditions == COFFER_TOKEN_IF_ABSENT { precondition = .absent }
        if conditions == COFFER_TOKEN_IF_VERSION { precondition = .version(unsafe wanted.version) }
    }

    private static var invalid: CofferError {
        CofferError(.invalidInput, "The options' size or flags are not those of coffer_token_options.")
    }

    /// Returns the attributes of the stored token with the new label; `nil` to keep them as they are.
    func attributes(over old: TokenInfo??) -> [String: String]? {
        guard let label else { return nil }
        // Anyone can have stored a marked token.
        let stored = old.flatMap { $0 }.flatMap { $0.isStoredWhileLocked ? nil : $0.attributes }
        var attributes = stored ?? [:]
        attributes["label"] = label.utf8.isEmpty ? nil : label
        return attributes
    }
}

extension ProtectionClass {
    /// Returns the class of this name; `nil` for NULL.
    fileprivate static func of(_ pointer: UnsafePointer<CChar>?) throws(CofferError) -> ProtectionClass? {
        guard let name = unsafe try Input.optionalText(pointer, "protection_class") else { return nil }
        guard let found = allCases.first(where: { $0.name.hasSameBytes(as: name) }) else {
            let names = allCases.map(\.name).joined(separator: ", ")
            throw CofferError(.invalidInput, "A protection class must be one of \(names).")
        }
        return found
    }
}

extension Date {
    /// Returns the time of a number of seconds since 1970; `nil` for 0.
    static func expiry(_ seconds: Double) throws(CofferError) -> Date? {
        guard seconds != 0 else { return nil }
        guard seconds.isFinite, seconds > 0 else {
            throw CofferError(.invalidInput, "An expiry must be a time after 1970, in seconds, or 0.")
        }
        return Date(timeIntervalSince1970: seconds)
    }
}
