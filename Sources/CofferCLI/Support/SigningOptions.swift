import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine
import FoundationEssentials

/// The options of commands that sign an order or a policy: the private key, the recipient, the counter and
/// the period.
struct SigningOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Read the private key from this file.", valueName: "file"), completion: .file())
    var keyFile: String?

    @Option(
        help: ArgumentHelp("Read the private key from the first line of this descriptor.", valueName: "n"))
    var keyFd: Int32?

    @Option(help: ArgumentHelp("The vault to sign for.", valueName: "uuid"))
    var vault: String?

    @Option(help: ArgumentHelp("The device to sign for, with every vault on it.", valueName: "hex"))
    var device: String?

    @Option(help: ArgumentHelp("The counter, 1 to 18446744073709551614.", valueName: "n"))
    var counter: UInt64?

    @Option(help: ArgumentHelp("The time from which it is valid; default now.", valueName: "ISO8601"))
    var issued: String?

    @Option(help: ArgumentHelp("How long it stays valid after that.", valueName: "seconds"))
    var validFor = 604_800

    /// Returns the counter and the times.
    func period() throws(CofferError) -> (counter: UInt64, issued: Date, expires: Date) {
        let start = try issued.map { text throws(CofferError) in try ISODate.parse(text, of: "--issued") }
        let issued = start ?? Date()
        guard (1...3_153_600_000).contains(validFor) else {
            throw CofferError(.invalidInput, "--valid-for takes 1 to 3153600000 seconds, a century.")
        }
        return (counter ?? Self.counter(issued, now: Date()), issued, issued + TimeInterval(validFor))
    }

    /// Returns the default counter: either the time of issue or the current time in milliseconds, whichever
    /// is later. If the vault accepts another order in the meantime, it therefore does not refuse an order
    /// issued for a later date as a replay. The milliseconds within the second are always those of the
    /// current time, so two orders for the same second have different counters.
    private static func counter(_ issued: Date, now: Date) -> UInt64 {
        let now = UInt64(max(1, now.timeIntervalSince1970 * 1000))
        let second = UInt64(max(0, issued.timeIntervalSince1970))
        return max(now, second * 1000 + now % 1000)
    }

    /// Reads the private key.
    func privateKey() throws(CofferError) -> SymmetricKey {
        switch (keyFile, keyFd) {
        case (let path?, nil): return try OrderFile.privateKey(path)
        case (nil, let number?): return try OrderFile.privateKey(onDescriptor: number)
        default: throw CofferError(.invalidInput, "Specify either --key-file or --key-fd.")
        }
    }

    /// Returns the recipient.
    func target() throws(CofferError) -> RemoteCommand.Target {
        switch (vault, device) {
        case (let text?, nil):
            guard let id = UUID(uuidString: text) else {
                throw CofferError(
                    .invalidInput, "--vault takes a vault id in the form that `coffer status` prints.")
            }
            return .vault(id)
        case (nil, let text?): return .device(try DeviceID(hex: text))
        default: throw CofferError(.invalidInput, "Specify either --vault or --device.")
        }
    }
}
