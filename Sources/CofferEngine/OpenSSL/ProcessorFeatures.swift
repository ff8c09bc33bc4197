import COpenSSL
import CofferBase

/// Which of the processor's instructions are used. OpenSSL takes a mask from the environment; what this
/// package does by such instructions itself obeys the same mask, so that one setting shows the portable code
/// of both.
package enum ProcessorFeatures {
    /// The variable that OpenSSL reads, and the value that leaves nothing but what every processor of the
    /// family has; `nil` where there is none.
    package static let portableSetting: (name: String, value: String)? = {
        #if arch(x86_64)
            // Without AES-NI, PCLMULQDQ, SSSE3 and AVX; and nothing of what came later.
            ("OPENSSL_ia32cap", "~0x1200020200000000:0")
        #elseif arch(arm64)
            ("OPENSSL_armcap", "0")
        #else
            nil
        #endif
    }()

    /// Whether this process runs under the portable setting.
    package static var isPortable: Bool {
        portableSetting.map { Environment.value($0.name) == $0.value } ?? true
    }

    /// What OpenSSL found and what was masked, in its own words.
    package static var libraryDescription: String {
        unsafe String(cString: OpenSSL_version(OPENSSL_CPU_INFO))
    }

    /// Whether the mask leaves the SHA-256 instructions to us.
    static let allowsSHA256: Bool = {
        guard let name = portableSetting?.name, let setting = Environment.value(name) else { return true }
        return allowsSHA256(setting)
    }()

    /// Reads a mask as OpenSSL does.
    ///
    /// - Parameter setting: On x86-64 two vectors with a colon between them, each a number or what a number
    ///   behind `~` leaves; without a colon the second is empty. On ARM one number.
    /// - Returns: Whether the bit of the SHA-256 instructions is set.
    package static func allowsSHA256(_ setting: String) -> Bool {
        #if arch(x86_64)
            guard let colon = setting.utf8.firstIndex(of: UInt8(ascii: ":")) else { return false }
            let vector = Substring(setting.utf8[colon...].dropFirst())
            let bit: UInt64 = 1 << 29
            guard vector.utf8.hasPrefix("~") else { return number(vector) & bit != 0 }
            return number(Substring(vector.utf8.dropFirst())) & bit == 0
        #else
            return number(setting[...]) & (1 << 4) != 0
        #endif
    }

    /// A number in C's notation; as much of the text as is one.
    private static func number(_ text: Substring) -> UInt64 {
        let isHexadecimal = text.utf8.hasPrefix("0x") || text.utf8.hasPrefix("0X")
        let digits = text.utf8.dropFirst(isHexadecimal ? 2 : 0).prefix { $0.hexDigit != nil }
        return UInt64(Substring(digits), radix: isHexadecimal ? 16 : text.utf8.hasPrefix("0") ? 8 : 10) ?? 0
    }
}
