public import CofferBase
import CofferCrypto

/// What a new passcode must look like.
public enum PasscodePolicy: UInt8, Sendable, CaseIterable {
    /// Anything that is not empty.
    case none = 0
    /// 4 to 8 digits.
    case digits = 1
    /// At least 5 characters with a letter and a digit among them.
    case alphanumeric = 2

    /// Checks a new passcode.
    ///
    /// - Throws: `refused` with what is asked for.
    public func check(_ passcode: Passcode) throws(CofferError) {
        let accepted = passcode.secret.exposing { bytes in
            var digits = 0
            var letters = 0
            for index in bytes.indices {
                switch bytes[index] {
                case UInt8(ascii: "0")...UInt8(ascii: "9"): digits += 1
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"):
                    letters += 1
                default: break
                }
            }
            return switch self {
            case .none: true
            case .digits: digits == bytes.count && (4...8).contains(digits)
            case .alphanumeric: bytes.count >= 5 && digits > 0 && letters > 0
            }
        }
        guard accepted else {
            let need = self == .digits ? "4 to 8 digits" : "at least 5 characters with letters and digits"
            throw CofferError(.refused, "The policy of this home asks for \(need).")
        }
    }
}
