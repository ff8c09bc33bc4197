import Coffer
import CofferCommandLine
import CofferEngine
import Synchronization

/// A progress bar that is shown on standard error for long files. It does nothing if standard error is not a
/// terminal.
final class ProgressBar: Sendable {
    private static let width = 40
    /// The size in bytes of the smallest file for which the bar is shown. Smaller files are processed before
    /// a user could read the bar.
    private static let shortest: Int64 = 32 << 20

    private let title: String
    private let shown = Mutex(-1)
    private let isTerminal: Bool

    init(_ title: String) {
        self.title = title
        isTerminal = (try? Descriptor.standardError().isTerminal) ?? false
    }

    /// The progress handler to pass to the file store, or `nil` if standard error is not a terminal.
    var report: (@Sendable (FileProgress) -> Void)? {
        guard isTerminal else { return nil }
        return { [self] in show($0) }
    }

    private func show(_ progress: FileProgress) {
        guard progress.total >= Self.shortest else { return }
        let percent = Int(progress.completed * 100 / progress.total)
        let isNew = shown.withLock { last in
            defer { last = max(last, percent) }
            return percent > last
        }
        guard isNew else { return }
        let filled = percent * Self.width / 100
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: Self.width - filled)
        Output.part("\r\(title) [\(bar)] \(percent) %" + (percent == 100 ? "\n" : ""))
    }
}
