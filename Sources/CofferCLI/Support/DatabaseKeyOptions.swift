import ArgumentParser
import CofferBase
import CofferCrypto
import CofferDatabase
import CofferEngine
import SystemPackage

/// Where a database's key comes from.
struct DatabaseKeyOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Read the key, 32 bytes in hexadecimal, from the first line of this descriptor.", valueName: "n"))
    var keyHexFd: Int32?

    @Option(
        help: ArgumentHelp(
            "Read a passphrase, for the format's own derivation, from the first line of this descriptor.",
            valueName: "n"))
    var passphraseFd: Int32?

    /// The same secret for two formats.
    struct Pair: ~Copyable {
        let first: DatabaseKey
        let second: DatabaseKey
    }

    func key(_ format: DatabaseFormat) throws(CofferError) -> DatabaseKey {
        let secret = try secret()
        return try Self.key(secret, isPassphrase: passphraseFd != nil, format)
    }

    func keys(_ first: DatabaseFormat, _ second: DatabaseFormat) throws(CofferError) -> Pair {
        let secret = try secret()
        let isPassphrase = passphraseFd != nil
        return Pair(
            first: try Self.key(secret, isPassphrase: isPassphrase, first),
            second: try Self.key(secret, isPassphrase: isPassphrase, second))
    }

    static func rawKey(on number: Int32, _ format: DatabaseFormat) throws(CofferError) -> DatabaseKey {
        let digits = try PasscodeInput.line(of: number)
        return try .raw(SecretBytes(Encoding.decodeHex(digits.span)), format: format)
    }

    /// Whether there is something at `path`.
    static func exists(_ path: FilePath) -> Bool {
        guard let name = path.lastComponent else { return false }
        let parent = path.removingLastComponent()
        guard let folder = try? Descriptor.open(parent.isEmpty ? "." : parent, [.read, .directory]) else {
            return false
        }
        return (try? folder.status(of: FilePath(root: nil, [name]))) != nil
    }

    private func secret() throws(CofferError) -> GuardedBytes {
        switch (keyHexFd, passphraseFd) {
        case (let number?, nil):
            let digits = try PasscodeInput.line(of: number)
            return try Encoding.decodeHex(digits.span)
        case (nil, let number?): return try PasscodeInput.line(of: number)
        default:
            throw CofferError(.invalidInput, "Give one of --key-hex-fd and --passphrase-fd.")
        }
    }

    private static func key(
        _ secret: borrowing GuardedBytes, isPassphrase: Bool, _ format: DatabaseFormat
    ) throws(CofferError) -> DatabaseKey {
        let copy = SecretBytes(try GuardedBytes.copying(secret.span))
        return isPassphrase
            ? try .passphrase(copy, format: format) : try .raw(copy, format: format)
    }
}
