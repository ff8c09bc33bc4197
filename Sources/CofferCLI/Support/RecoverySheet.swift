import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine
import SystemPackage

/// The sheet of a recovery key: what a user prints or writes down.
struct RecoverySheet {
    let location: VaultLocation
    let vaultID: VaultID
    let number: String
    /// Whether the key opens the vault without its device key.
    let opensWithoutDeviceKey: Bool

    private static let rule = String(repeating: "-", count: 72)

    /// Returns the sheet's text. The key never becomes a string.
    func text(_ key: RecoveryKey, date: String) throws(CofferError) -> SecretBytes {
        var buffer = try GuardedBuffer.make(limit: 1 << 16)
        try buffer.append(
            """
            Coffer: recovery key \(number)
            \(Self.rule)
            Made \(date) for the vault \(vaultID)
            in \(location.path.string.printable)

            """)
        try key.text().exposing { (characters) throws(CofferError) in
            // Four groups on each line.
            let half = (characters.count + 1) / 2
            try buffer.append("\n    1-4:  ")
            try buffer.append(characters.extracting(..<(half - 1)))
            try buffer.append("\n    5-8:  ")
            try buffer.append(characters.extracting(half...))
        }
        try buffer.append("\n\n" + explanation + "\n" + Self.rule + "\n")
        return SecretBytes(try buffer.contents())
    }

    private var explanation: String {
        let device =
            opensWithoutDeviceKey
            ? "It also opens the vault directory, or a copy of it, where the device key is\n"
                + "lost, and so on another machine."
            : "It opens the vault only where the vault's device key is. If that is lost, only\n"
                + "a backup helps."
        return """
            Whoever has this key and the vault directory can open the vault. Keep the
            sheet where you keep what must not be lost or seen, away from the machine.

            The key opens this vault when the passcode is forgotten: run

                coffer recovery use

            and choose a new passcode. The sheet is then void, and you get a new one.
            \(device)

            It does not open items of the class whenPasscodeSetThisDeviceOnly, and it
            opens nothing after the vault was wiped or erased by ten wrong passcodes.
            It is not a backup: it brings nothing back that is deleted or destroyed.

            Case, spaces and dashes do not matter, and there are no letters I, L, O
            and U. The last character of each group is a check: a mistyped group is
            reported at once. "coffer recovery check" proves that the key still works.
            """
    }
}
