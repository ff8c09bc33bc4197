public import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage

extension RecoveryKey {
    private static let maxMistakes = 10

    /// Reads a recovery key from the controlling terminal without echo, group by group. Each group is checked
    /// as soon as it is typed; after a mistake, the method writes which group is wrong and asks for it again.
    /// A line may also have several groups, or all of them.
    ///
    /// - Throws: `unsupported` if there is no terminal; the error of the tenth mistake: `invalidInput` if a
    ///   group is mistyped, incomplete, out of place or empty.
    public static func readFromTerminal() throws(CofferError) -> RecoveryKey {
        let terminal: Descriptor
        do throws(CofferError) {
            terminal = try Descriptor.open("/dev/tty", .readWrite)
        } catch {
            throw CofferError(
                .unsupported, "The recovery key could not be requested because no terminal is available.")
        }
        var reader = try RecoveryKeyReader()
        var mistakes = 0
        while !reader.isComplete {
            do throws(CofferError) {
                let prompt = "Group \(reader.groups + 1) of \(groupCount): "
                let line = SecretBytes(try SecretInput.line(from: terminal, prompt: prompt))
                guard line.count > 0 else {
                    throw CofferError(.invalidInput, "Nothing was typed.")
                }
                try reader.append(line)
            } catch {
                mistakes += 1
                guard mistakes < maxMistakes, error.code == .invalidInput else { throw error }
                let advice = Array("\(error.message) Continue with group \(reader.groups + 1).\n".utf8)
                try terminal.append(advice.span)
            }
        }
        return RecoveryKey(checked: try reader.key())
    }

    /// Reads a recovery key from the first line of an open descriptor and closes the descriptor, so no child
    /// process inherits it.
    ///
    /// - Throws: `invalidInput` if the descriptor is not open, or if the line is not a recovery key; the
    ///   message names the wrong group.
    public static func read(fromDescriptor number: Int32) throws(CofferError) -> RecoveryKey {
        let descriptor = try Descriptor.adopting(number)
        return try RecoveryKey(SecretBytes(SecretInput.line(from: descriptor, droppingReturn: true)))
    }
}
