import CofferEngine

/// Random bytes for nonces, read from the kernel each time: bytes that a process buffers in its memory would
/// be duplicated by a fork, a snapshot or a copy of the machine.
enum SystemRandom {
    /// Fills `region`, which must be short.
    static func fill(_ region: SharedMemoryRegion) -> Bool {
        region.withMutableSpan { span in (try? SecureRandom.fill(&span)) != nil }
    }
}
