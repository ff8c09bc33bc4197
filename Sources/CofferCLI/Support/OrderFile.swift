import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine
import SystemPackage

/// Functions that read and write signed commands, receipts and private keys in files.
enum OrderFile {
    /// Reads a signed command from a file, or from standard input if the path is `-`.
    static func read(_ path: String) throws(CofferError) -> SignedCommand {
        try SignedCommand.read(bytes(path, limit: SignedCommand.maxByteCount + 1))
    }

    /// Reads a signed policy from a file, or from standard input if the path is `-`.
    static func policy(_ path: String) throws(CofferError) -> SignedPolicy {
        try SignedPolicy.read(bytes(path, limit: SignedPolicy.maxByteCount + 1))
    }

    /// Reads a receipt from a file, or from standard input if the path is `-`.
    static func receipt(_ path: String) throws(CofferError) -> [UInt8] { try bytes(path, limit: 1 << 20) }

    /// Reads at most `limit` bytes, so an oversized file is not read to its end.
    private static func bytes(_ path: String, limit: Int) throws(CofferError) -> [UInt8] {
        guard !path.hasSameBytes(as: "-") else {
            return try bytes(of: Descriptor.standardInput(), limit: limit)
        }
        let file = try Descriptor.open(FilePathArgument.path(path), [.read, .nonBlocking])
        guard try file.status().kind == .regular else {
            throw CofferError(.invalidInput, "\(path.printable) must be a regular file.")
        }
        return try bytes(of: file, limit: limit)
    }

    private static func bytes(
        of file: borrowing Descriptor, limit: Int
    ) throws(CofferError) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: limit)
        var count = 0
        while count < limit {
            var span = buffer.mutableSpan
            var rest = span._mutatingExtracting(count..<limit)
            guard let read = try file.readSome(into: &rest) else { break }
            count += read
        }
        return Array(buffer.prefix(count))
    }

    /// Reads the private key, which is 64 hexadecimal digits, from a file that only this user can access.
    static func privateKey(_ path: String) throws(CofferError) -> SymmetricKey {
        let file = try Descriptor.open(FilePathArgument.path(path), [.read, .nonBlocking])
        let status = try file.status()
        guard status.kind == .regular, status.isOwn, status.permissions & 0o077 == 0 else {
            throw CofferError(
                .refused, "\(path.printable) must be a file that only this user can read.")
        }
        return try checked(SecretInput.line(from: file))
    }

    /// Reads the private key from the first line of a descriptor.
    static func privateKey(onDescriptor number: Int32) throws(CofferError) -> SymmetricKey {
        try checked(PasscodeInput.line(of: number))
    }

    private static func checked(_ digits: consuming GuardedBytes) throws(CofferError) -> SymmetricKey {
        let key = SymmetricKey.adopting(SecretBytes(try Encoding.decodeHex(digits.span)))
        guard key.count == Ed25519.keySize else {
            throw CofferError(
                .invalidInput, "A private key must be \(2 * Ed25519.keySize) hexadecimal digits.")
        }
        return key
    }

    /// Creates a file with a new private key, readable by this user alone, and returns the public key.
    static func makePrivateKey(_ path: String) throws(CofferError) -> AdministratorKey {
        let secret = try SecretBytes.random(count: Ed25519.keySize)
        let digits = try secret.exposing { (bytes) throws(CofferError) in try Encoding.hex(bytes) }
        let file = try Descriptor.open(FilePathArgument.path(path), [.readWrite, .exclusive])
        try file.append(digits.span)
        try file.append(Array("\n".utf8).span)
        try file.sync()
        return try AdministratorKey(of: SymmetricKey.adopting(secret))
    }
}
