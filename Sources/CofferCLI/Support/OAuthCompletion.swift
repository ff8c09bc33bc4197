import Coffer
import CofferBase
import CofferCommandLine
import CofferEngine

/// The completion of words after `coffer oauth`. The program `coffer-oauth` says which commands, options and
/// values there are, and without it nothing is offered.
enum OAuthCompletion {
    private static let maxByteCount = 1 << 20
    /// A shorter time than the deadline of the completion, so that the other program ends first.
    private static let programDeadline = Duration.seconds(3)

    /// Returns the words that fit the place `index` on an unfinished command line.
    static func words(_ words: [String], _ index: Int, _ prefix: String) async -> [String] {
        NameCompletion.startDeadline()
        let command = OAuthProgram.subcommand
        guard let start = words.firstIndex(where: { $0.hasSameBytes(as: command) }), start < index,
            let root = await commands()
        else { return [] }
        var place = OAuthPlace(in: root)
        for word in words[..<min(index, words.count)].dropFirst(start + 1) { place.take(word) }
        // For bash, = is a word of its own.
        let current = prefix.hasSameBytes(as: "=") ? "" : prefix
        if let equals = current.utf8.firstIndex(of: UInt8(ascii: "=")), current.utf8.hasPrefix("--") {
            let option = String(current[..<equals])
            let value = String(current[current.utf8.index(after: equals)...])
            place.take(option)
            return await offered(place.candidates(for: value), value, words).map { option + "=" + $0 }
        }
        return await offered(place.candidates(for: current), current, words)
    }

    private static func offered(
        _ candidates: OAuthPlace.Candidates, _ prefix: String, _ words: [String]
    ) async -> [String] {
        switch candidates {
        case .words(let words): return words
        case .files: return files(prefix)
        case .profiles:
            guard let vault = await Self.vault(words) else { return [] }
            return ((try? await vault.tokens.profileNames()) ?? []).plainWords
        case .accounts(let profile):
            guard let vault = await Self.vault(words) else { return [] }
            return ((try? await vault.tokens.sessionAccounts(of: profile)) ?? []).plainWords
        }
    }

    private static func vault(_ words: [String]) async -> Vault? {
        guard let global = NameCompletion.options(words) else { return nil }
        return try? await VaultOpener.unlockedSilently(global)
    }

    /// Returns the other program's description of its commands.
    private static func commands() async -> JSONValue? {
        let description = try? await BlockingExecutor.run { cancellation throws(CofferError) -> JSONValue? in
            let none = [UInt8]()
            let outcome = try Subprocess.run(
                try OAuthProgram.command(["--experimental-dump-help"]), input: none.span,
                limit: maxByteCount, deadline: programDeadline, isCancelled: { cancellation.isCancelled })
            guard outcome.code == 0 else { return nil }
            let output = outcome.takeOutput()
            return try JSONValue(parsing: output.span.copied())
        }
        return description?["command"]
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
