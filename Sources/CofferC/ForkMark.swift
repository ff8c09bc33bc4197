import CofferEngine

/// The process that made the first call. A child that was forked afterwards has none of the threads that do
/// the work, so a call there would wait for ever.
enum ForkMark {
    private static let process = Environment.processID

    /// Whether this process was forked from the one that made the first call.
    static var isForked: Bool { process != Environment.processID }
}
