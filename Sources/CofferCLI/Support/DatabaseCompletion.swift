import Coffer
import CofferBase
import CofferCommandLine
import CofferEngine

/// The completion of words after a command that opens databases. The program `coffer-database` says which
/// commands, options, values and names there are, and without it nothing is offered.
enum DatabaseCompletion {
    /// Returns the words that fit the place `index` on an unfinished command line.
    static func words(_ words: [String], _ index: Int, _ prefix: String) async -> [String] {
        NameCompletion.startDeadline()
        let line = Array(words[..<min(max(0, index), words.count)])
        guard
            let start = line.firstIndex(where: { word in
                DatabaseProgram.commands.contains { $0.hasSameBytes(as: word) }
            }),
            let root = await ProgramDescription.commands({ () throws(CofferError) in
                try DatabaseProgram.command(ProgramDescription.request)
            })
        else { return [] }
        var place = CommandPlace(in: root)
        for word in line[start...] { place.take(word) }
        return await place.completions(of: prefix) { candidates in
            switch candidates {
            case .storedFiles:
                guard let global = NameCompletion.options(words),
                    let vault = try? await VaultOpener.unlockedSilently(global),
                    let listing = try? await vault.files.listing()
                else { return [] }
                return FileReference.words(for: listing).plainWords
            case .asked(let command, let argument):
                // The word itself does not matter: the shell chooses from all names.
                let question = ["---completion"] + command + ["--", argument, String(index), "0"]
                return await answers(question + line + [""])
            default: return []
            }
        }
    }

    /// Returns the program's own completions, one for each line.
    private static func answers(_ question: [String]) async -> [String] {
        let bytes = await ProgramDescription.output { () throws(CofferError) in
            try DatabaseProgram.command(question)
        }
        guard let bytes, let text = String(validating: bytes, as: UTF8.self) else { return [] }
        return text.parts(between: "\n").plainWords
    }
}
