import CofferBase
import CofferCommandLine
import CofferEngine
import SystemPackage

/// The file that tells p11-kit how to run the vault's module.
enum PKCS11ModuleFile {
    /// The program that does the work of `coffer pkcs11 serve`.
    static let program = "coffer-pkcs11"

    /// Returns the file for a command.
    ///
    /// - Throws: `unsupported` if the environment names no home directory, or if p11-kit could not read a
    ///   word of the command.
    static func file(for command: [[UInt8]]) throws(CofferError) -> UserFile {
        let words = try command.map { (word) throws(CofferError) in try quoted(word) }
        return UserFile(
            path: try UserFile.directory("XDG_CONFIG_HOME", ".config", "pkcs11/modules/coffer.module"),
            content: "remote: |\(words.joined(separator: " "))\n")
    }

    /// Quotes a word as p11-kit reads it: between double quotes, only these and backslashes mean anything.
    private static func quoted(_ word: [UInt8]) throws(CofferError) -> String {
        guard !word.contains(where: { "\"\\\n\r".utf8.contains($0) }),
            let text = String(validating: word, as: UTF8.self)
        else {
            throw CofferError(
                .unsupported,
                "The path of the vault or of this program contains a quote, a backslash, a line break or "
                    + "bytes that are not UTF-8, which p11-kit could not read.")
        }
        return "\"\(text)\""
    }

    /// Checks that the program is in the directory of this one.
    ///
    /// - Throws: `unsupported` if it is not; the error that prevents looking.
    static func requireProgram() throws(CofferError) {
        let path = FileNameBytes.path(try CurrentExecutable.path(ofSibling: program))
        guard let path, (try? Descriptor.open(path, .read)) != nil else {
            throw CofferError(
                .unsupported,
                "The program \(program) is not in the directory of this program. Install it there.")
        }
    }
}
