import BenchPeers
import BenchReport
import CofferEngine
import SystemPackage

/// The machine that bench runs on.
enum Machine {
    /// The description for the report.
    static func current() -> MachineDescription {
        let system = value(of: "PRETTY_NAME", in: "/etc/os-release", separator: "=") ?? "Linux"
        return MachineDescription(
            cpu: value(of: "model name", in: "/proc/cpuinfo", separator: ":") ?? Host.architecture,
            cores: Host.cores, os: "\(system), Linux \(Host.kernel) \(Host.architecture)",
            openssl: OpenSSLFailure.libraryVersion, swift: swiftVersion, date: Host.date)
    }

    /// A figure of this process or of the system in KiB: `VmRSS`, `VmHWM` or `MemAvailable`.
    static func memory(_ key: String) -> Int? {
        let file: FilePath = key.hasPrefix("Vm") ? "/proc/self/status" : "/proc/meminfo"
        return value(of: key, in: file, separator: ":").flatMap { Int($0.prefix(while: \.isNumber)) }
    }

    private static var swiftVersion: String {
        PeerProgram.find("swift")?.version() ?? "unknown"
    }

    private static func value(of key: String, in path: FilePath, separator: Character) -> String? {
        guard let file = try? Descriptor.open(path, .read) else { return nil }
        var bytes = [UInt8](repeating: 0, count: 8192)
        var span = bytes.mutableSpan
        guard let count = try? file.read(at: 0, into: &span) else { return nil }
        let text = String(decoding: bytes.prefix(count), as: UTF8.self)
        for line in text.split(separator: "\n") where line.hasPrefix(key) {
            guard let start = line.firstIndex(of: separator) else { continue }
            return String(line[line.index(after: start)...].drop(while: \.isWhitespace)).filter { $0 != "\"" }
        }
        return nil
    }
}
