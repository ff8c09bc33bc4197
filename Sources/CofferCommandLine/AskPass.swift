import CofferBase
import CofferEngine

/// Questions that the program in `SSH_ASKPASS` asks, as for OpenSSH's agent.
package enum AskPass {
    /// The maximum time for an answer.
    private static let deadline = Duration.seconds(60)

    /// Asks a question. No program, no answer in time, and any answer but an empty one and "yes" are a no.
    package static func isConfirmed(_ question: String) -> Bool {
        guard let program = Environment.path("SSH_ASKPASS") else {
            Output.message(
                "coffer: A key requires confirmation, but SSH_ASKPASS names no program that asks for it.")
            return false
        }
        do throws(CofferError) {
            return try answer(
                to: [
                    Array("env".utf8), Array("SSH_ASKPASS_PROMPT=confirm".utf8), FileNameBytes.of(program),
                    Array(question.printableLines.utf8),
                ])
        } catch {
            Output.message("coffer: \(error.advice)")
            return false
        }
    }

    private static func answer(to command: [[UInt8]]) throws(CofferError) -> Bool {
        let process = try BoundChildProcess.start(command, readsOutput: true)
        let end = Clock.sinceBoot + deadline
        while process.isRunning {
            guard Clock.sinceBoot < end else {
                process.end()
                return false
            }
            Clock.sleep(for: .milliseconds(20))
        }
        guard process.ended() == 0 else { return false }
        var answer = [UInt8](repeating: 0, count: 64)
        var span = answer.mutableSpan
        let count = try process.read(into: &span) ?? 0
        let word = answer[..<count].prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        return word.isEmpty || word.elementsEqual("yes".utf8)
    }
}
