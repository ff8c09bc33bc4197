public import CofferBase
import CofferEngine
public import FoundationEssentials
package import SystemPackage

extension VaultLocation {
    /// The location at a path; the directory may not exist yet.
    ///
    /// - Parameters:
    ///   - path: The directory.
    ///   - sessionBus: The address of the bus with the user's Secret Service; `nil` for that of the
    ///     environment.
    /// - Throws: `invalidInput` for a path with a NUL.
    public init(path: String, sessionBus: String? = nil) throws(CofferError) {
        self.init(path: try FilePath(text: path), sessionBus: sessionBus)
    }

    /// The location at a file URL; the directory may not exist yet.
    ///
    /// - Parameters:
    ///   - url: The directory.
    ///   - sessionBus: The address of the bus with the user's Secret Service; `nil` for that of the
    ///     environment.
    /// - Throws: `invalidInput` for a URL that is not a file URL of this machine.
    public init(path url: URL, sessionBus: String? = nil) throws(CofferError) {
        self.init(path: try FilePath(fileURL: url), sessionBus: sessionBus)
    }
}

extension FilePath {
    /// The path with these bytes.
    ///
    /// - Throws: `invalidInput` for text with a NUL, at which the system would cut the path off.
    package init(text: String) throws(CofferError) {
        guard !text.utf8.contains(0) else {
            throw CofferError(.invalidInput, "A path cannot contain a NUL character.")
        }
        self.init(text)
    }

    /// The path that a file URL names, byte for byte: a name need not be UTF-8.
    ///
    /// - Throws: `invalidInput` for a URL with another scheme or a host, and for one that no path has.
    package init(fileURL url: URL) throws(CofferError) {
        let url = url.absoluteURL
        // The message does not contain the URL, which may have a password in it.
        guard url.isFileURL else {
            throw CofferError(.invalidInput, "The URL is not a file URL.")
        }
        let host = url.host(percentEncoded: true) ?? ""
        guard host.isEmpty || host.hasSameBytes(as: "localhost") else {
            throw CofferError(.invalidInput, "The URL names a file on another machine.")
        }
        guard let bytes = Self.decodingPercents(url.path(percentEncoded: true)), !bytes.isEmpty,
            let path = FileNameBytes.path(bytes)
        else {
            throw CofferError(.invalidInput, "The URL does not name a file.")
        }
        self = path
    }

    /// The bytes of a percent-encoded path; `nil` for an incomplete escape, and for an escaped slash, which
    /// no file name contains.
    private static func decodingPercents(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst()?.hexDigit, let low = rest.popFirst()?.hexDigit,
                high << 4 | low != UInt8(ascii: "/")
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }
}
