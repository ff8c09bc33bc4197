/// A set of digests that forgets its oldest when it is full.
struct NewestDigests {
    /// When one of the two is half of the limit, the older is forgotten: no digest is dropped one by one.
    private var new: Set<[UInt8]> = []
    private var old: Set<[UInt8]> = []
    private let half: Int

    init(limit: Int) { half = max(1, limit / 2) }

    func contains(_ digest: [UInt8]) -> Bool { new.contains(digest) || old.contains(digest) }

    mutating func insert(_ digest: [UInt8]) {
        if new.count >= half { (old, new) = (new, []) }
        new.insert(digest)
    }
}
