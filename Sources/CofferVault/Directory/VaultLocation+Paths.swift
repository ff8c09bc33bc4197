public import CofferBase
import CofferEngine
public import FoundationEssentials
package import SystemPackage

extension VaultLocation {
    /// Creates a location at a path. The directory may not exist yet.
    ///
    /// - Parameters:
    ///   - path: The vault directory's path.
    ///   - sessionBus: The address of the bus with the user's Secret Service; `nil` for the session bus that
    ///     the environment specifies.
    /// - Throws: `invalidInput` if `path` contains a NUL character.
    public init(path: String, sessionBus: String? = nil) throws(CofferError) {
        self.init(path: try FilePath(text: path), sessionBus: sessionBus)
    }

    /// Creates a location at a file URL. The directory may not exist yet.
    ///
    /// - Parameters:
    ///   - url: The vault directory's file URL.
    ///   - sessionBus: The address of the bus with the user's Secret Service; `nil` for the session bus that
    ///     the environment specifies.
    /// - Throws: `invalidInput` unless `url` is a file URL that refers to a file on this machine.
    public init(path url: URL, sessionBus: String? = nil) throws(CofferError) {
        self.init(path: try FilePath(fileURL: url), sessionBus: sessionBus)
    }
}

extension FilePath {
    /// Creates a path with the bytes of `text`.
    ///
    /// - Throws: `invalidInput` if `text` contains a NUL character, at which the system would cut off the
    ///   path.
    package init(text: String) throws(CofferError) {
        guard !text.utf8.contains(0) else {
            throw CofferError(.invalidInput, "A path must not contain a NUL character.")
        }
        self.init(text)
    }

    /// Creates a path with the bytes of a file URL's path. A file name need not be valid UTF-8.
    ///
    /// - Throws: `invalidInput` if `url` is not a file URL, refers to another machine or does not refer to a
    ///   file.
    package init(fileURL url: URL) throws(CofferError) {
        let url = url.absoluteURL
        // The message does not contain the URL, which may have a password in it.
        guard url.isFileURL else {
            throw CofferError(.invalidInput, "The URL is not a file URL.")
        }
        let host = url.host(percentEncoded: true) ?? ""
        guard host.isEmpty || host.hasSameBytes(as: "localhost") else {
            throw CofferError(.invalidInput, "The URL refers to a file on another machine.")
        }
        guard let bytes = Self.decodingPercents(url.path(percentEncoded: true)), !bytes.isEmpty,
            let path = FileNameBytes.path(bytes)
        else {
            throw CofferError(.invalidInput, "The URL does not contain a valid file path.")
        }
        self = path
    }

    /// Returns the bytes of a percent-encoded path; `nil` if the path contains an invalid escape or an
    /// escaped slash, which no file name can contain.
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
