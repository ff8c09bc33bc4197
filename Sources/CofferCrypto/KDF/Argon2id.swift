public import CofferBase
import CofferEngine

/// Argon2id (RFC 9106), a function that derives a key from a passcode at a cost in memory and time that slows
/// guessing.
public enum Argon2id {
    /// The cost of one derivation. The cost is stored alongside the salt and is checked against bounds,
    /// because an attacker may have changed the stored value.
    public struct Cost: Sendable, Equatable {
        /// The amount of memory in KiB.
        public let memoryKiB: Int
        /// The number of passes over the memory.
        public let passes: Int

        /// The standard cost: 64 MiB and 3 passes. A derivation takes about a tenth of a second on one core
        /// of a 2024 processor.
        public static let standard = Cost(uncheckedMemoryKiB: 64 * 1024, passes: 3)
        /// The minimum accepted cost: 8 MiB and 2 passes.
        public static let floor = Cost(uncheckedMemoryKiB: 8 * 1024, passes: 2)
        /// The maximum accepted cost: 4 GiB and 64 passes. With a higher limit, a file could make a process
        /// wait indefinitely.
        public static let ceiling = Cost(uncheckedMemoryKiB: 4 * 1024 * 1024, passes: 64)

        private init(uncheckedMemoryKiB memoryKiB: Int, passes: Int) {
            self.memoryKiB = memoryKiB
            self.passes = passes
        }

        /// Creates a cost between ``floor`` and ``ceiling``.
        ///
        /// - Throws: `refused` if the cost is outside these bounds.
        public init(memoryKiB: Int, passes: Int) throws(CofferError) {
            guard (Self.floor.memoryKiB...Self.ceiling.memoryKiB).contains(memoryKiB),
                (Self.floor.passes...Self.ceiling.passes).contains(passes)
            else {
                throw CofferError(
                    .refused,
                    "An Argon2id cost of \(memoryKiB) KiB and \(passes) passes is out of bounds. Use "
                        + "\(Self.floor.memoryKiB) to \(Self.ceiling.memoryKiB) KiB and "
                        + "\(Self.floor.passes) to \(Self.ceiling.passes) passes.")
            }
            self.init(uncheckedMemoryKiB: memoryKiB, passes: passes)
        }
    }

    /// The salt's size in bytes.
    public static let saltSize = Argon2idBinding.saltSize

    /// Derives a 32-byte key from `secret`, with one lane.
    ///
    /// - Parameters:
    ///   - secret: The passcode's bytes, used unchanged.
    ///   - salt: The salt: exactly 16 random bytes.
    ///   - cost: The amount of memory and the number of passes.
    /// - Returns: The derived key.
    /// - Throws: `invalidInput` if the salt is not 16 bytes long; `outOfMemory` if the memory cannot be
    ///   allocated.
    public static func deriveKey(
        secret: borrowing SecretBytes, salt: Span<UInt8>, cost: Cost
    ) throws(CofferError) -> SymmetricKey {
        var output = try GuardedBytes.zeroed(count: 32)
        var span = output.mutableSpan
        try Argon2idBinding.derive(
            secret: secret.guarded.span, salt: salt, passes: cost.passes, memoryBytes: cost.memoryKiB * 1024,
            into: &span)
        return SymmetricKey(output)
    }
}
