import CofferEngine

/// Random bytes for nonces, read from the kernel each time. A fork, or a snapshot or a copy of the machine,
/// would duplicate random bytes that a process had buffered.
enum SystemRandom {
    /// Fills `region`, which must be short, with random bytes. Reports whether the kernel supplied them.
    static func fill(_ region: SharedMemoryRegion) -> Bool {
        region.withMutableSpan { span in (try? SecureRandom.fill(&span)) != nil }
    }
}
