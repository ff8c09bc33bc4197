import CofferBase
import COpenSSL

/// The optional processor instructions that may be used. OpenSSL reads a mask from the environment, and this
/// package's own code obeys the same mask, so one setting selects the portable code in both.
package enum ProcessorFeatures {
    /// The environment variable that OpenSSL reads and the value that permits only the instructions that
    /// every processor of the architecture has, or `nil` on an architecture without such a variable.
    package static let portableSetting: (name: String, value: String)? = {
        #if arch(x86_64)
            // Without AES-NI, PCLMULQDQ, SSSE3 and AVX, and without any later extension.
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

    /// The detected features and the masked features, as OpenSSL describes them.
    package static var libraryDescription: String {
        unsafe String(cString: OpenSSL_version(OPENSSL_CPU_INFO))
    }

    /// Whether the mask permits the SHA-256 instructions.
    static let allowsSHA256: Bool = {
        guard let name = portableSetting?.name, let setting = Environment.value(name) else { return true }
        return allowsSHA256(setting)
    }()

    /// Parses a mask as OpenSSL does.
    ///
    /// - Parameter setting: On x86-64, two vectors separated by a colon. Each vector is a number, or `~`
    ///   followed by a number whose bits are to be cleared; without a colon, the second vector is zero. On
    ///   ARM, a single number.
    /// - Returns: Whether the mask permits the SHA-256 instructions.
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

    /// Parses a number in C's notation from the longest valid prefix of the text.
    private static func number(_ text: Substring) -> UInt64 {
        let isHexadecimal = text.utf8.hasPrefix("0x") || text.utf8.hasPrefix("0X")
        let digits = text.utf8.dropFirst(isHexadecimal ? 2 : 0).prefix { $0.hexDigit != nil }
        return UInt64(Substring(digits), radix: isHexadecimal ? 16 : text.utf8.hasPrefix("0") ? 8 : 10) ?? 0
    }
}
