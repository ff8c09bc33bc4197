/// A set of digests that removes its oldest members when it is full.
struct NewestDigests {
    /// When `new` contains half of the limit, it replaces `old`. No digest is removed individually.
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
