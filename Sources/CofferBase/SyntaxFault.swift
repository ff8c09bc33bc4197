/// The first fault of a text that a strict reader refuses.
package struct SyntaxFault: Error, Sendable {
    /// The line, counted from 1.
    package let line: Int
    /// The fault as a sentence, with its place.
    package let message: String

    package init(line: Int, message: String) {
        self.line = line
        self.message = message
    }

    /// The fault as an error that tells the user what is wrong.
    package var error: CofferError { CofferError(.invalidInput, message) }

    /// Runs `body` and throws its fault as an `invalidInput` error.
    package static func asError<Result>(
        _ body: () throws(SyntaxFault) -> Result
    ) throws(CofferError) -> Result {
        do throws(SyntaxFault) { return try body() } catch { throw error.error }
    }
}
