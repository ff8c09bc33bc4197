package import CofferBase
import CofferEngine

/// The error for a command that a user gave after `--` and that cannot be run.
package struct CommandNotStarted: Error {
    package let error: CofferError
    /// 127 if there is no such program, 126 if it cannot be executed.
    package let exitCode: Int32

    /// Runs `body`, which runs the command, and marks its error if the command's name is the reason.
    package static func marking<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as CofferError {
            guard let code = ChildProcess.exitCode(ofFailedStart: error) else { throw error }
            throw CommandNotStarted(error: error, exitCode: code)
        }
    }
}
