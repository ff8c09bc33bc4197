import Foundation

/// Whether these tests were built with the address or the thread sanitizer.
package enum Sanitizer {
    /// They reserve terabytes of addresses for their bookkeeping, which nothing else does. What walks through
    /// the memory of a process would not end, and what the sanitizer itself keeps of a secret is no finding.
    package static let isOn: Bool = {
        let maps = (try? String(contentsOfFile: "/proc/self/maps", encoding: .utf8)) ?? ""
        return maps.split(separator: "\n").contains { line in
            let bounds = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt64($0, radix: 16) }
            return bounds.count == 2 && bounds[1] - bounds[0] > 1 << 40
        }
    }()
}
