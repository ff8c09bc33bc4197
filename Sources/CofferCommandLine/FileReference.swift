package import Coffer
package import CofferBase
import CofferEngine

/// A stored file as a user specifies it: by its id, by the beginning of its id, or by its name.
///
/// A complete id always means the file with that id. Anything else that matches several files is `ambiguous`,
/// because a wrong guess could remove the wrong file. The form `./NAME` always means a name and never an id.
package struct FileReference {
    /// The minimum length of an id prefix. Shorter text is interpreted only as a name.
    package static let shortestPrefix = 4

    private let text: String
    private let name: [UInt8]
    private let isNameOnly: Bool

    /// Creates a reference from an argument.
    ///
    /// - Parameter text: The argument's text.
    /// - Throws: `invalidInput` if the text is - or a path, or can be no name of a file.
    package init(_ text: String) throws(CofferError) {
        let bytes = ProgramArguments.bytes(text)
        guard !bytes.elementsEqual("-".utf8) else {
            throw CofferError(
                .invalidInput,
                "This argument does not accept - for a standard stream. To specify a file named -, write "
                    + "./-.")
        }
        self.text = text
        isNameOnly = bytes.starts(with: "./".utf8)
        name = isNameOnly ? Array(bytes.dropFirst(2)) : bytes
        guard FileNameBytes.component(name) != nil else {
            throw CofferError(
                .invalidInput,
                "Specify a stored file by its name, its id or the beginning of its id, not by a path.",
                remedy: .listFiles)
        }
    }

    /// Returns the id of the only file that this reference matches.
    ///
    /// - Throws: `absent` if no file matches; `ambiguous` if several files match, with their ids in
    ///   `entries`; `locked` if the vault is locked and a name cannot be looked up.
    package func id(in vault: Vault) async throws(CofferError) -> FileID {
        let whole = isNameOnly ? nil : try? FileID(text)
        // The command itself reports a store that cannot be read.
        if let whole, (try? await vault.files.hasContainer(whole)) ?? true { return whole }
        do throws(CofferError) {
            return try choose(from: try await vault.files.listing(), whole)
        } catch {
            // The command itself reports why there is no such container.
            guard let whole, error.code != .ambiguous else { throw error }
            return whole
        }
    }

    /// Returns one word for each file, for shell completion. The word is the file's name if the name is
    /// unique and shells interpret it as one plain word, and otherwise the file's id. Shells expand the words
    /// that they receive, and file names may come from someone else.
    package static func words(for listing: FileListing) -> [String] {
        let counts = Dictionary(
            listing.files.map { (FileNameBytes.of($0.name), 1) }, uniquingKeysWith: { $0 + $1 })
        return listing.files.map { file in
            let bytes = FileNameBytes.of(file.name)
            guard counts[bytes] == 1, let name = String(validating: bytes, as: UTF8.self), isPlainWord(name)
            else { return file.id.description }
            return bytes.starts(with: "-".utf8) || isPrefix(bytes) ? "./" + name : name
        }
    }

    /// Returns whether shells interpret the text as one plain word, in which they expand nothing.
    package static func isPlainWord(_ text: String) -> Bool {
        text.utf8.allSatisfy { isWordByte($0) } && text.hasSameBytes(as: text.printable)
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"),
            UInt8(ascii: "+"), UInt8(ascii: ","), UInt8(ascii: "@"), UInt8(ascii: "%"), 0x80...:
            true
        default: false
        }
    }

    private func choose(from listing: FileListing, _ whole: FileID?) throws(CofferError) -> FileID {
        if let whole, listing.files.contains(where: { $0.id == whole }) { return whole }
        var found = listing.files.filter { FileNameBytes.of($0.name) == name }.map(\.id)
        if isPrefix {
            let start = text.foldedASCII
            for id in listing.files.map(\.id) + listing.unlisted
            where id.description.utf8.hasPrefix(start) && !found.contains(id) {
                found.append(id)
            }
        }
        guard let first = found.first else {
            guard !listing.isIndexDamaged else {
                throw CofferError(
                    .corrupt, "The file index is damaged, and its readable part lists no file \(text).",
                    remedy: .reindexFiles)
            }
            throw CofferError(
                .absent,
                isShortPrefix
                    ? "There is no file named \(text). For the beginning of an id, specify at least "
                        + "\(Self.shortestPrefix) characters."
                    : isPrefix
                        ? "There is no file named \(text), and no id begins with it."
                        : "There is no file named \(String(decoding: name, as: UTF8.self)).",
                remedy: .listFiles)
        }
        guard found.count == 1 else {
            let ids = found.map(\.description)
            throw CofferError(
                .ambiguous,
                "\(text) matches \(found.count) files: \(ids.joined(separator: ", ")). Specify one of them "
                    + "by its id" + (isPrefix ? ", or by its name as ./\(text)." : "."),
                remedy: .listFiles, entries: ids)
        }
        return first
    }

    /// Whether the text can be the beginning of an id.
    private var isPrefix: Bool { !isNameOnly && Self.isPrefix(text.utf8) }

    /// Whether the text could be the beginning of an id if it were longer.
    private var isShortPrefix: Bool {
        !isNameOnly && name.count < Self.shortestPrefix && Self.isHexadecimal(name)
    }

    private static func isPrefix(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.count >= shortestPrefix && isHexadecimal(bytes)
    }

    private static func isHexadecimal(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.allSatisfy { $0.hexDigit != nil || $0 == UInt8(ascii: "-") }
    }
}
