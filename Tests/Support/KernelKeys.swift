/// The kernel's list of keys in /proc/keys.
package enum KernelKeys {
    private static let units: [Character: Int] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]

    /// How long the key whose description begins with `name` stays, rounded down to the kernel's unit;
    /// `Int.max` for ever, `nil` when there is none.
    package static func secondsLeft(_ name: String) -> Int? {
        guard let text = try? Helper.run(["cat", "/proc/keys"]).output else { return nil }
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: " ", omittingEmptySubsequences: true)
            guard fields.count > 8, fields[8...].joined(separator: " ").hasPrefix(name + ":") else {
                continue
            }
            // Removed, and not yet cleared away.
            guard !fields[1].hasSuffix("i") else { continue }
            guard fields[3] != "perm" else { return .max }
            guard let unit = fields[3].last.flatMap({ units[$0] }), let count = Int(fields[3].dropLast())
            else {
                continue
            }
            return count * unit
        }
        return nil
    }
}
