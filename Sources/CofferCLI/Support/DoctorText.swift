import Coffer
import CofferBase
import CofferCommandLine

/// The lines that `coffer doctor` prints for people. Text that the library repeats for several lock sources
/// or classes appears once.
struct DoctorText {
    private(set) var lines: [String] = []
    /// The checks by their messages, which the guarantees of classes repeat.
    private var shownChecks: [String: String] = [:]
    private var shownRemedies: Set<CofferError.Remedy> = []

    private static let indentation = 10

    mutating func add(_ checks: [SecurityCheck]) {
        for check in checks {
            shownChecks[check.message] = check.name
            add(check.status.rawValue, check.name, check.message, check.remedy)
        }
    }

    mutating func add(_ strength: PasscodeStrength) {
        let milliseconds = Int((strength.secondsPerGuess * 1000).rounded(.up))
        add(
            "advisory", "guessing",
            "An attacker with a copy of all files needs \(milliseconds) ms for each guess on one core of "
                + "this machine, as just measured, and can make any number of guesses. The policy requires "
                + "\(strength.requirement). Time to try all passcodes:")
        for estimate in strength.estimates { addIndented("\(estimate.passcodes): \(estimate.time)") }
        addIndented(
            "Divide these times by the number of cores. A word, a name or a date is guessed immediately.")
    }

    mutating func add(_ sources: [LockTriggerStatus]) {
        for group in Self.groups(sources, by: { "\($0.isListening) \($0.message)" }) {
            let names = group.map(\.source.words).joined(separator: ", ")
            add(group[0].isListening ? "ok" : "missing", "lock source: \(names)", group[0].message)
        }
    }

    /// Adds what the classes promise, by promise: the classes of which the same is true share a line.
    mutating func add(_ classes: [ProtectionClass: [ClassAssurance]]) {
        var all: [(name: String, assurance: ClassAssurance)] = []
        for (protection, assurances) in classes.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            all += assurances.map { (name: protection.name, assurance: $0) }
        }
        for promise in ClassAssurance.Promise.allCases {
            let promised = all.filter { $0.assurance.promise == promise }
            for group in Self.groups(
                promised, by: { "\($0.assurance.strength.rawValue) \($0.assurance.reason)" })
            {
                let isWhole = group.count == classes.count
                let names = isWhole ? "all classes" : group.map(\.name).joined(separator: ", ")
                add(group[0].assurance, "\(promise.words): \(names)")
            }
        }
    }

    private mutating func add(_ assurance: ClassAssurance, _ title: String) {
        let status = assurance.strength == .cryptographic ? "ok" : assurance.strength.rawValue
        if let check = shownChecks[assurance.reason] {
            return add(status, title, "See \(check) above.")
        }
        let isNew = assurance.remedy.map { !shownRemedies.contains($0) } ?? false
        add(status, title, assurance.reason, isNew ? assurance.remedy : nil)
    }

    private mutating func add(
        _ status: String, _ title: String, _ message: String, _ remedy: CofferError.Remedy? = nil
    ) {
        lines.append(Self.padded(status) + title)
        addIndented(Self.advice(message, remedy))
        if let remedy { shownRemedies.insert(remedy) }
    }

    private mutating func addIndented(_ text: String) {
        lines.append(String(repeating: " ", count: Self.indentation) + text)
    }

    /// Returns one line for each finding that is not `ok`, and a line with the number of findings of each
    /// status.
    static func summary(_ checks: [SecurityCheck], _ sources: [LockTriggerStatus]) -> [String] {
        var lines: [String] = []
        for check in checks where check.status != .ok {
            lines.append(
                padded(check.status.rawValue) + "\(check.name): \(advice(check.message, check.remedy))")
        }
        let silent = sources.filter { !$0.isListening }
        for group in groups(silent, by: \.message) {
            let names = group.map(\.source.words).joined(separator: ", ")
            lines.append(padded("missing") + "lock source: \(names): \(group[0].message)")
        }
        let statuses =
            checks.map(\.status.rawValue) + sources.map { $0.isListening ? "ok" : "missing" }
        let counts = ["ok", "advisory", "missing", "unknown"].compactMap { status -> String? in
            let count = statuses.count { $0.hasSameBytes(as: status) }
            return count == 0 ? nil : "\(count) \(status)"
        }
        return lines + [counts.joined(separator: ", ")]
    }

    private static func padded(_ status: String) -> String {
        status + String(repeating: " ", count: indentation - status.utf8.count)
    }

    /// Returns a finding, followed by its remedy.
    private static func advice(_ finding: String, _ remedy: CofferError.Remedy?) -> String {
        finding + (remedy.map { " " + $0.sentence } ?? "")
    }

    /// Returns the elements with equal keys together, in the order in which the keys first appear.
    private static func groups<Element>(_ elements: [Element], by key: (Element) -> String) -> [[Element]] {
        var keys: [String] = []
        var groups: [String: [Element]] = [:]
        for element in elements {
            let name = key(element)
            if groups[name] == nil { keys.append(name) }
            groups[name, default: []].append(element)
        }
        return keys.compactMap { groups[$0] }
    }
}

extension LockTriggerStatus.Source {
    fileprivate var words: String {
        switch self {
        case .idleTimer: "inactivity"
        case .kernelKeyring: "kernel keyring timeout"
        case .desktopSession: "desktop session"
        case .sleep: "sleep"
        case .screenSaver: "screen saver"
        case .collection: "desktop keyring"
        }
    }
}

extension ClassAssurance.Promise {
    fileprivate var words: String {
        switch self {
        case .passcode: "opens only with the passcode"
        case .lock: "closed while locked"
        case .thisDevice: "bound to this device"
        case .lockSources: "locked with the session"
        }
    }
}

extension PasscodeStrength.Estimate {
    /// The estimated time, in the largest unit in which it is at least 1.
    fileprivate var time: String {
        let units = [("year", 31_557_600.0), ("day", 86_400.0), ("hour", 3600.0), ("minute", 60.0)]
        for (name, length) in units where seconds >= length {
            let count = (seconds / length).rounded()
            guard count < 1e6 else { return "millions of years" }
            return "\(Int(count)) \(name)\(count == 1 ? "" : "s")"
        }
        let count = max(1, Int(seconds.rounded()))
        return "\(count) second\(count == 1 ? "" : "s")"
    }
}
