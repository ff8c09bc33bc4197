import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import Glibc

/// Reads a passcode from the first line of a descriptor, before a deadline.
///
/// The caller's own thread waits: if each wait had a thread of the library, processes that never write would
/// use up all of them, and with them the calls of the whole program.
enum PasscodeLine {
    /// The maximum time of one look at the descriptor, in milliseconds.
    private static let look = 1000

    /// Reads the passcode and closes the descriptor in any case.
    ///
    /// - Throws: `timedOut` after the deadline; `invalidInput` if the descriptor is not open, or if the line
    ///   is empty or too long.
    static func read(_ number: Int32, deadline: Duration) throws(CofferError) -> Passcode {
        // A terminal's echo is switched off before the wait, by the reader for terminals.
        guard isatty(number) == 0 else { return try readTerminal(number, deadline) }
        let descriptor = try Descriptor.adopting(number)
        let end = Clock.sinceBoot + deadline
        // The longest line and one more byte for its newline.
        var buffer = try GuardedBytes.zeroed(count: SecretInput.maxLineLength + 1)
        var count = 0
        while true {
            try wait(for: descriptor, until: end)
            var span = buffer.mutableSpan
            // One byte at a time: what follows the line belongs to another reader.
            var next = span._mutatingExtracting(count..<count + 1)
            guard try descriptor.readSome(into: &next) != nil else { break }
            if buffer.span[count] == UInt8(ascii: "\n") {
                if count > 0, buffer.span[count - 1] == UInt8(ascii: "\r") { count -= 1 }
                break
            }
            count += 1
            guard count <= SecretInput.maxLineLength else {
                throw CofferError(
                    .invalidInput,
                    "The first line must be at most \(SecretInput.maxLineLength) bytes long.")
            }
        }
        let line = buffer.span.extracting(0..<count)
        return try Passcode(SecretBytes(GuardedBytes.copying(line)))
    }

    private static func readTerminal(
        _ number: Int32, _ deadline: Duration
    ) throws(CofferError) -> Passcode {
        try Call.wait(deadline) { () async throws(CofferError) in
            try await BlockingExecutor.run { _ throws(CofferError) in
                try Passcode.read(fromDescriptor: number)
            }
        }
    }

    private static func wait(
        for descriptor: borrowing Descriptor, until end: Duration
    ) throws(CofferError) {
        while true {
            let left = end - Clock.sinceBoot
            guard left > .zero else {
                throw CofferError(.timedOut, "No passcode came before the deadline. Nothing was unlocked.")
            }
            let milliseconds = min(left.milliseconds + 1, look)
            if try descriptor.waitForInput(milliseconds: Int32(milliseconds)) { return }
        }
    }
}

extension Duration {
    fileprivate var milliseconds: Int {
        Int(min(components.seconds, 1_000_000) * 1000 + components.attoseconds / 1_000_000_000_000_000)
    }
}
