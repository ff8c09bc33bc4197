package import CofferBase
import CofferCrypto
import CofferEngine

/// A request to an SSH agent (draft-ietf-sshm-ssh-agent), without its length.
///
/// The decoder accepts only complete messages of the exact length, with known constraints. A private key or a
/// passphrase in a message is copied to guarded memory; the message itself should be in guarded memory, too:
/// see ``isSecret(_:)``.
package enum SSHAgentRequest: Sendable {
    /// The maximum number of bytes of a message.
    package static let largest = 256 << 10

    /// Lists the keys.
    case identities
    /// Asks for a signature by the key with this encoded public key.
    case sign(key: [UInt8], data: [UInt8], flags: UInt32)
    /// Adds a key.
    case add(SSHAddedKey)
    /// Removes the key with this encoded public key.
    case remove(key: [UInt8])
    /// Removes all keys.
    case removeAll
    /// Locks the agent with a passphrase.
    case lock(SSHPassphrase)
    /// Unlocks the agent.
    case unlock(SSHPassphrase)
    /// Binds the connection to a session with a server.
    case bind(SSHSessionBinding)
    /// A message that this agent does not support, or that is malformed.
    case unsupported

    /// The number that begins a message.
    private enum Number {
        static let identities: UInt8 = 11
        static let sign: UInt8 = 13
        static let add: UInt8 = 17
        static let remove: UInt8 = 18
        static let removeAll: UInt8 = 19
        static let lock: UInt8 = 22
        static let unlock: UInt8 = 23
        static let addConstrained: UInt8 = 25
        static let extended: UInt8 = 27
    }

    /// Whether a message that begins with this byte contains a private key or a passphrase.
    package static func isSecret(_ first: UInt8) -> Bool {
        [Number.add, Number.addConstrained, Number.lock, Number.unlock].contains(first)
    }

    /// Returns the request in a message.
    ///
    /// - Parameter bytes: The message without its length.
    /// - Returns: The request; ``unsupported`` if the message is malformed.
    /// - Throws: `outOfMemory` if no guarded memory is available.
    package static func decode(_ bytes: Span<UInt8>) throws(CofferError) -> SSHAgentRequest {
        var reader = SSHReader(0..<bytes.count)
        guard let number = reader.byte(bytes) else { return .unsupported }
        switch number {
        case Number.identities: return reader.isAtEnd ? .identities : .unsupported
        case Number.removeAll: return reader.isAtEnd ? .removeAll : .unsupported
        case Number.remove:
            guard let key = reader.string(bytes), reader.isAtEnd else { return .unsupported }
            return .remove(key: bytes.extracting(key).copied())
        case Number.sign:
            guard let key = reader.string(bytes), let data = reader.string(bytes),
                let flags = reader.number(bytes), reader.isAtEnd
            else { return .unsupported }
            return .sign(
                key: bytes.extracting(key).copied(), data: bytes.extracting(data).copied(), flags: flags)
        case Number.add, Number.addConstrained:
            let isConstrained = number == Number.addConstrained
            guard let key = try SSHAddedKey.decode(bytes, &reader, constrained: isConstrained) else {
                return .unsupported
            }
            return .add(key)
        case Number.lock, Number.unlock:
            guard let place = reader.string(bytes), reader.isAtEnd else { return .unsupported }
            let passphrase = SSHPassphrase(try SecretBytes.copying(bytes.extracting(place)))
            return number == Number.lock ? .lock(passphrase) : .unlock(passphrase)
        case Number.extended:
            guard reader.skip("session-bind@openssh.com", bytes),
                let binding = SSHSessionBinding.decode(bytes, &reader)
            else { return .unsupported }
            return .bind(binding)
        default: return .unsupported
        }
    }
}
