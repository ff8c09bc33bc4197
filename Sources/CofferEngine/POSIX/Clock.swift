package import CofferBase
// Import both: `timespec` belongs to the module, CLinux or Glibc, that the compiler saw first.
import CLinux
import Glibc
import SystemPackage

/// The system's clocks. The user cannot set back ``sinceBoot``, which starts at boot and continues while the
/// machine is suspended.
package enum Clock {
    /// The time since boot (CLOCK_BOOTTIME), without the offset of any time namespace.
    package static var sinceBoot: Duration {
        var time = timespec()
        unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec) - namespaceOffset
    }

    /// The amount by which a time namespace, which every user can create, sets this process's clock ahead.
    private static let namespaceOffset: Duration = {
        // The offsets apply to future children: to this process only if it is in the same namespace.
        guard let own = identity("/proc/self/ns/time"), own == identity("/proc/self/ns/time_for_children"),
            let text = ProcFile.read("/proc/self/timens_offsets")
        else { return .zero }
        return bootOffset(in: text) ?? .zero
    }()

    /// Parses the seconds and nanoseconds that follow the word `boottime`. Returns `nil` if there are none.
    package static func bootOffset(in text: String) -> Duration? {
        for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
            let words = line.split(separator: UInt8(ascii: " ")).compactMap { String($0) }
            guard words.count == 3, Array(words[0].utf8) == Array("boottime".utf8),
                let seconds = Int64(words[1]), let nanoseconds = Int64(words[2])
            else { continue }
            return .seconds(seconds) + .nanoseconds(nanoseconds)
        }
        return nil
    }

    private static func identity(_ path: FilePath) -> [UInt64]? {
        guard let status = try? Descriptor.open(path, .read).status() else { return nil }
        return [status.device, status.inode]
    }

    /// The time since 1 January 1970, on a clock that the user can set.
    package static var wall: Duration {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// Blocks the calling thread for `duration`, which includes any time during which the machine is
    /// suspended.
    package static func sleep(for duration: Duration) {
        let parts = duration.components
        var time = timespec(tv_sec: Int(parts.seconds), tv_nsec: Int(parts.attoseconds / 1_000_000_000))
        _ = unsafe clock_nanosleep(CLOCK_BOOTTIME, 0, &time, nil)
    }

    /// Returns the kernel's random identifier for this boot, 36 characters long.
    package static func bootIdentifier() throws(CofferError) -> String {
        let file = try Descriptor.open("/proc/sys/kernel/random/boot_id", .read)
        var bytes = [UInt8](repeating: 0, count: 36)
        var span = bytes.mutableSpan
        guard try file.read(at: 0, into: &span) == 36 else {
            throw CofferError(.unsupported, "The kernel does not provide a boot identifier.")
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
