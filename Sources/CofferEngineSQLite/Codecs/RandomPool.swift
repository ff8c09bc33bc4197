import CofferEngine

/// Random bytes for nonces, fetched from the system many at a time: a call for each page would cost as much
/// as a third of its encryption.
final class RandomPool {
    private let scratch = Scratch(count: 2048)
    private var used = 2048

    /// Fills `region`, which is short.
    func fill(_ region: Region) -> Bool {
        let size = scratch.region.count
        guard region.count <= size else { return false }
        if size - used < region.count {
            let filled = scratch.region.withMutableSpan { span in
                (try? SecureRandom.fill(&span)) != nil
            }
            guard filled else { return false }
            used = 0
        }
        let piece = scratch.region.part(used, region.count)
        region.copy(piece)
        piece.zero()
        used += region.count
        return true
    }
}
