import CofferBase
import CofferEngine

/// The program that runs the commands of `coffer oauth`.
enum OAuthProgram {
    /// The command of this program whose arguments the other program gets.
    static let subcommand = "oauth"
    private static let name = "coffer-oauth"

    /// Replaces this process with the program. It inherits the descriptors, so it can read a passcode.
    static func become(_ words: [String]) throws(CofferError) {
        try ImmediateBinding.request()
        try CurrentExecutable.become(sibling: name, words.map { ProgramArguments.bytes($0) })
    }

    /// Returns the words with which the program is run as another process.
    static func command(_ words: [String]) throws(CofferError) -> [[UInt8]] {
        try ImmediateBinding.request()
        return [try CurrentExecutable.path(ofSibling: name)] + words.map { ProgramArguments.bytes($0) }
    }
}
