import ArgumentParser
import CofferBase
import CofferCrypto
import CofferDatabase
import CofferEngine

/// Options for the key of a database.
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

    @Flag(
        help: """
            Accept a gcm1 database whose passphrase costs more than 1 GiB of memory or 16 passes, up to 4 \
            GiB and 64 passes.
            """)
    var allowExpensive = false

    /// The keys of two formats, prepared from the same secret.
    struct Pair: ~Copyable {
        let first: DatabaseKey
        let second: DatabaseKey
    }

    func key(_ format: DatabaseFormat) throws(CofferError) -> DatabaseKey {
        try key(secret(), format)
    }

    func keys(_ first: DatabaseFormat, _ second: DatabaseFormat) throws(CofferError) -> Pair {
        let secret = try secret()
        return Pair(first: try key(secret, first), second: try key(secret, second))
    }

    static func rawKey(on number: Int32, _ format: DatabaseFormat) throws(CofferError) -> DatabaseKey {
        try .raw(SecretBytes(hexKey(on: number)), format: format)
    }

    static func passphrase(
        on number: Int32, _ format: DatabaseFormat
    ) throws(CofferError) -> DatabaseKey {
        try .passphrase(SecretBytes(PasscodeInput.line(of: number)), format: format)
    }

    private static func hexKey(on number: Int32) throws(CofferError) -> GuardedBytes {
        let digits = try PasscodeInput.line(of: number)
        guard digits.count > 0 else {
            throw CofferError(
                .invalidInput, "Descriptor \(number) is empty, or its first line is. Write the key there.")
        }
        let refusal = CofferError(.invalidInput, "The key must be 64 hexadecimal digits, nothing else.")
        guard digits.count == 64 else { throw refusal }
        do throws(CofferError) {
            return try Encoding.decodeHex(digits.span)
        } catch {
            throw error.code == .invalidInput ? refusal : error
        }
    }

    private func secret() throws(CofferError) -> GuardedBytes {
        switch (keyHexFd, passphraseFd) {
        case (let number?, nil): return try Self.hexKey(on: number)
        case (nil, let number?): return try PasscodeInput.line(of: number)
        default:
            throw CofferError(.invalidInput, "Specify one of --key-hex-fd and --passphrase-fd.")
        }
    }

    private func key(
        _ secret: borrowing GuardedBytes, _ format: DatabaseFormat
    ) throws(CofferError) -> DatabaseKey {
        let copy = SecretBytes(try GuardedBytes.copying(secret.span))
        return passphraseFd != nil
            ? try .passphrase(copy, format: format, allowingExpensive: allowExpensive)
            : try .raw(copy, format: format)
    }
}
