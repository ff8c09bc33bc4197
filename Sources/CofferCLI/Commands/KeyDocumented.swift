import ArgumentParser
import CofferBase
import CofferCrypto
import CofferEngine

/// `coffer key documented`
struct KeyDocumented: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "documented",
        abstract: "Print the documented key of a UUID and a passcode.",
        discussion: """
            The key is SHA-256(UUID, label, passcode hash), where the passcode hash is \
            Base64(SHA-256(passcode)). Everything is taken as given, in UTF-8. The passcode comes from \
            --passcode-fd; without it, or when its first line is empty, there is no passcode and nothing is \
            appended.

            A passcode of a few digits is guessed in seconds by whoever knows the UUID: the scheme is here \
            because data depends on it, not because it is strong.
            """)

    @OptionGroup var global: HomelessOptions

    @Option(help: ArgumentHelp("The UUID; upper case with dashes in the documented form.", valueName: "uuid"))
    var uuid: String

    @Option(help: ArgumentHelp("The label; empty in the documented form.", valueName: "label"))
    var label = ""

    func run() throws(CofferError) {
        guard ProgramArguments.isText(uuid), ProgramArguments.isText(label) else {
            throw CofferError(.invalidInput, "A UUID and a label are UTF-8.")
        }
        let passcode = Self.unlessEmpty(try PasscodeInput.given(global.passcodeFd))
        let key = try Documented.exposingKey(uuid: uuid, label: label, passcode: passcode)
        let hex = try key.exposing { (span) throws(CofferError) in try Encoding.hex(span) }
        switch passcode {
        case .none:
            let none = [UInt8]()
            try Output.secrets("passcodeHash", none.span, "key", hex.span, asJSON: global.json)
        case .some(let passcode):
            let hash = try Documented.passcodeHash(of: passcode)
            try hash.exposing { (hash) throws(CofferError) in
                try Output.secrets("passcodeHash", hash, "key", hex.span, asJSON: global.json)
            }
        }
    }

    /// In this scheme an empty passcode stands for none.
    private static func unlessEmpty(_ passcode: consuming SecretBytes?) -> SecretBytes? {
        guard let passcode, passcode.count > 0 else { return nil }
        return passcode
    }
}
