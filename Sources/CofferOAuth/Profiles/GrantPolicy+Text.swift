package import CofferBase

/// Policies as words: the administrator's file and the command line have the same ones.
extension GrantPolicy {
    /// The times that a policy can have.
    static let times = Duration.seconds(60)...Duration.seconds(3650 * 86400)

    private static let words: [(String, GrantPolicy)] = [
        ("untilRevoked", .untilRevoked), ("onceOnly", .onceOnly), ("eachStart", .eachStart),
        ("hourly", .hourly), ("daily", .daily), ("monthly", .monthly),
    ]

    /// The forms of a text that names a policy, for messages.
    package static let forms =
        "untilRevoked, onceOnly, eachStart, hourly, daily, monthly, idle:SECONDS or absolute:SECONDS"

    /// Creates the policy that a text names.
    ///
    /// - Parameter text: One of the ``forms``.
    /// - Throws: `invalidInput` if the text names no policy or its time is outside 60 seconds to 10 years.
    package init(parsing text: String) throws(CofferError) {
        if let word = Self.words.first(where: { $0.0.hasSameBytes(as: text) }) {
            self = word.1
            return
        }
        let parts = text.parts(between: ":", keepsEmpty: true)
        guard parts.count == 2, parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let seconds = Int64(parts[1])
        else { throw Self.unknown }
        let time = Duration.seconds(seconds)
        if parts[0].hasSameBytes(as: "idle") {
            self = .idle(time)
        } else if parts[0].hasSameBytes(as: "absolute") {
            self = .absolute(time)
        } else {
            throw Self.unknown
        }
        guard Self.times.contains(time) else { throw Self.unknown }
    }

    private static var unknown: CofferError {
        CofferError(
            .invalidInput, "A policy must be \(forms), with a time of 60 seconds to 10 years.")
    }
}
