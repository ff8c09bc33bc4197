import CSodium
import Glibc

/// The host on which the figures were measured.
package enum Host {
    /// The number of processors online.
    package static var cores: Int { sysconf(CInt(_SC_NPROCESSORS_ONLN)) }

    /// The kernel's name for the hardware, such as `x86_64`.
    package static var architecture: String { name.1 }

    /// The kernel's release.
    package static var kernel: String { name.0 }

    /// The current time in UTC, as `2026-01-31T12:00:00Z`.
    package static var date: String {
        var now = time(nil)
        var parts = unsafe tm()
        unsafe gmtime_r(&now, &parts)
        var text = [CChar](repeating: 0, count: 32)
        let count = unsafe strftime(&text, text.count, "%Y-%m-%dT%H:%M:%SZ", &parts)
        return String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The version of the libsodium in use.
    package static var sodium: String { unsafe String(cString: sodium_version_string()) }

    private static var name: (String, String) {
        var names = utsname()
        unsafe uname(&names)
        let release = unsafe withUnsafeBytes(of: &names.release) { unsafe text($0) }
        let machine = unsafe withUnsafeBytes(of: &names.machine) { unsafe text($0) }
        return (release, machine)
    }

    private static func text(_ bytes: UnsafeRawBufferPointer) -> String {
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
}
