import CofferBase
import CofferCommandLine
import CofferEngine
import SystemPackage

extension CommandPlace {
    /// Returns the words that may stand here in place of the beginning of a word, or of an option with the
    /// beginning of its value.
    ///
    /// - Parameters:
    ///   - prefix: The beginning of the word.
    ///   - names: A function that returns the names in the vault that are candidates.
    /// - Returns: The words that complete the prefix, and others, among which the shell chooses.
    func completions(
        of prefix: String, names: (Candidates) async -> [String]
    ) async -> [String] {
        // For bash, = is a word of its own.
        let current = prefix.hasSameBytes(as: "=") ? "" : prefix
        guard let equals = current.utf8.firstIndex(of: UInt8(ascii: "=")), current.utf8.hasPrefix("--") else {
            return await words(candidates(for: current), current, names)
        }
        let option = String(current[..<equals])
        let value = String(current[current.utf8.index(after: equals)...])
        var place = self
        place.take(option)
        return await place.words(place.candidates(for: value), value, names).map { option + "=" + $0 }
    }

    private func words(
        _ candidates: Candidates, _ value: String, _ names: (Candidates) async -> [String]
    ) async -> [String] {
        switch candidates {
        case .words(let words): words
        case .files: Self.files(value)
        default: await names(candidates)
        }
    }

    /// Returns the files whose paths begin with the text and that a shell takes as one plain word.
    private static func files(_ prefix: String) -> [String] {
        let name = prefix.utf8.reversed().prefix { $0 != UInt8(ascii: "/") }.count
        let folder = String(decoding: prefix.utf8.dropLast(name), as: UTF8.self)
        // The shell expands the words that it receives, also the part that the user typed.
        guard folder.parts(between: "/").allSatisfy(FileReference.isPlainWord) else { return [] }
        let isHidden = prefix.utf8.suffix(name).first == UInt8(ascii: ".")
        let entries = (try? Self.entries(of: folder.isEmpty ? "." : folder)) ?? []
        return entries.filter { isHidden || $0.utf8.first != UInt8(ascii: ".") }.map { folder + $0 }
            .filter { $0.utf8.first != UInt8(ascii: "-") && $0.utf8.hasPrefix(prefix) }.sorted()
    }

    /// Returns the names of a directory's entries, those of directories with a slash.
    private static func entries(of folder: String) throws(CofferError) -> [String] {
        let directory = try Descriptor.open(ProgramArguments.path(folder), [.read, .directory])
        var entries: [String] = []
        for name in try directory.names() {
            guard let text = String(validating: FileNameBytes.of(name), as: UTF8.self),
                FileReference.isPlainWord(text)
            else { continue }
            let isDirectory = try directory.status(of: name)?.kind == .directory
            entries.append(isDirectory ? text + "/" : text)
        }
        return entries
    }
}
