import CofferEngine

/// Random bytes for nonces, from the kernel each time: what a process keeps in its memory for later, a fork,
/// a snapshot or a copy of the machine has, too.
enum SystemRandom {
    /// Fills `region`, which is short.
    static func fill(_ region: SharedMemoryRegion) -> Bool {
        region.withMutableSpan { span in (try? SecureRandom.fill(&span)) != nil }
    }
}
