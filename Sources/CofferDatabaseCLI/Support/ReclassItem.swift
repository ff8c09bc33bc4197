import Coffer
import CofferBase
import CofferCommandLine
import CofferEngine

/// An item whose class a user changes: a token, as `SERVICE/ACCOUNT` or `SERVICE/ACCOUNT#KIND`, or a file, as
/// every file command accepts it. Text with a slash means a token, except that `./NAME` means a file.
enum ReclassItem {
    case token(TokenID)
    case file(FileReference)

    init(_ argument: String) throws(CofferError) {
        let isToken = argument.utf8.contains(UInt8(ascii: "/")) && !argument.utf8.hasPrefix("./")
        guard isToken else {
            self = .file(try FileReference(argument))
            return
        }
        guard ProgramArguments.isText(argument) else {
            throw CofferError(.invalidInput, "The name of a token must be UTF-8.")
        }
        let refusal = CofferError(.invalidInput, "A token is SERVICE/ACCOUNT or SERVICE/ACCOUNT#KIND.")
        self = .token(try TokenReference.id(Array(argument.utf8)[...], refusal))
    }
}
