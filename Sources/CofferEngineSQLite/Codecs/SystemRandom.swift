import CofferEngine

/// A source of random bytes for nonces, which are read from the kernel each time. A fork of the process, or a
/// snapshot or a copy of the machine, would duplicate buffered random bytes.
enum SystemRandom {
    /// Fills `region`, which must be short, with random bytes. Reports whether the kernel supplied them.
    static func fill(_ region: SharedMemoryRegion) -> Bool {
        region.withMutableSpan { span in (try? SecureRandom.fill(&span)) != nil }
    }
}
