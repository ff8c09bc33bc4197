package import CofferBase
package import CofferCrypto
import CofferEngine

/// A reader that takes the groups of a recovery key one by one, in guarded memory, and checks each of them at
/// once.
package struct RecoveryKeyReader: ~Copyable {
    /// The values of the symbols, without the checks.
    private var symbols: GuardedBytes
    /// The values of the current group's symbols, with the check.
    private var group: GuardedBytes
    private var groupSize = 0
    /// The number of groups that were read and are right.
    package private(set) var groups = 0

    package init() throws(CofferError) {
        let symbols = try GuardedBytes.zeroed(
            count: RecoveryKey.groupCount * (RecoveryKey.groupLength - 1))
        let group = try GuardedBytes.zeroed(count: RecoveryKey.groupLength)
        self.symbols = symbols
        self.group = group
    }

    package var isComplete: Bool { groups == RecoveryKey.groupCount }

    /// Reads the groups in `text`, which ends at the end of a group. After an error, the groups before the
    /// one that the message names have been read.
    ///
    /// - Parameter text: One group or more.
    /// - Throws: `invalidInput` if a group is mistyped, incomplete or out of place, or if there are too many.
    package mutating func append(_ text: borrowing SecretBytes) throws(CofferError) {
        try text.exposing { (bytes) throws(CofferError) in try append(bytes) }
    }

    private mutating func append(_ text: Span<UInt8>) throws(CofferError) {
        groupSize = 0
        for index in text.indices where !Self.isSeparator(text[index]) {
            guard !isComplete else {
                throw CofferError(
                    .invalidInput, "A recovery key has \(RecoveryKey.groupCount) groups, not more.")
            }
            try append(text[index])
        }
        guard groupSize == 0 else {
            throw wrong("must have \(RecoveryKey.groupLength) characters, and has \(groupSize)")
        }
    }

    private mutating func append(_ character: UInt8) throws(CofferError) {
        let value = RecoveryKeyText.value(character)
        guard value != RecoveryKeyText.invalid else {
            throw wrong("has a character that no recovery key has: they have digits, and letters except U")
        }
        let place = groupSize
        var span = group.mutableSpan
        span[place] = value
        groupSize += 1
        guard groupSize == RecoveryKey.groupLength else { return }
        groupSize = 0
        let data = RecoveryKey.groupLength - 1
        let check = RecoveryKeyText.check(group.span.extracting(..<data), group: groups)
        guard check == group.span[data] else {
            throw wrong("is mistyped, or belongs in another place")
        }
        let start = groups * data
        for place in 0..<data {
            let symbol = group.span[place]
            var output = symbols.mutableSpan
            output[start + place] = symbol
        }
        groups += 1
    }

    private static func isSeparator(_ character: UInt8) -> Bool {
        character == UInt8(ascii: " ") || character == UInt8(ascii: "-") || character == UInt8(ascii: "\t")
    }

    private func wrong(_ reason: String) -> CofferError {
        CofferError(.invalidInput, "Group \(groups + 1) of the recovery key \(reason).")
    }

    /// Returns the key's bytes after the last group.
    ///
    /// - Throws: `invalidInput` if a group is missing.
    package func key() throws(CofferError) -> SymmetricKey {
        guard isComplete else {
            throw CofferError(
                .invalidInput,
                "The recovery key is incomplete: it has \(RecoveryKey.groupCount) groups, and "
                    + (groups == 1 ? "1 was" : "\(groups) were") + " entered.")
        }
        var bytes = try GuardedBytes.zeroed(count: RecoveryKey.size)
        var span = bytes.mutableSpan
        var pending: UInt32 = 0
        var count = 0
        var position = 0
        for index in symbols.span.indices {
            pending = pending << 5 | UInt32(symbols.span[index])
            count += RecoveryKeyText.bitsPerSymbol
            guard count >= 8 else { continue }
            count -= 8
            span[position] = UInt8(truncatingIfNeeded: pending >> UInt32(count))
            position += 1
        }
        return SymmetricKey.adopting(SecretBytes(bytes))
    }
}
