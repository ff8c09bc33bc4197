package import CofferBase
import CLinux

/// The keys in a ring and in the rings within it, those near the top first. Keys that hide their names are
/// passed over.
struct KernelSubkeyringSearch {
    struct Entry {
        let key: KernelKey
        let type: [UInt8]
        let name: [UInt8]
        /// The ring that it was found in.
        let ring: Int

        var isRing: Bool { type == Array(KernelSubkeyring.type.utf8) }
    }

    /// The kernel's own search goes no deeper.
    private static let depth = 6
    private static let maxCount = 65_536

    private(set) var entries: [Entry] = []
    /// Whether there were more keys than are looked at.
    private(set) var isCut = false
    private var seen: Set<Int>

    init(in ring: KernelSubkeyring) {
        seen = [ring.number]
        // A ring that does not list its keys, or went meanwhile, has none to show.
        add((try? ring.keys()) ?? [], of: ring.number)
        descend()
    }

    /// The user keyring.
    ///
    /// - Throws: Why it cannot be listed.
    static func ofUser() throws(CofferError) -> KernelSubkeyringSearch {
        let user = KernelSubkeyring(number: Int(KEY_SPEC_USER_KEYRING))
        _ = try user.keys()
        return KernelSubkeyringSearch(in: user)
    }

    private mutating func descend() {
        var level = entries.filter(\.isRing)
        for _ in 0..<Self.depth {
            let start = entries.count
            for ring in level {
                add((try? KernelSubkeyring(number: ring.key.number).keys()) ?? [], of: ring.key.number)
            }
            level = entries[start...].filter(\.isRing)
            guard !level.isEmpty else { return }
        }
        isCut = true
    }

    private mutating func add(_ keys: [KernelKey], of ring: Int) {
        for key in keys {
            guard seen.count < Self.maxCount else {
                isCut = true
                return
            }
            // A key may lie in several rings.
            guard seen.insert(key.number).inserted, let label = key.label else { continue }
            entries.append(Entry(key: key, type: label.type, name: label.name, ring: ring))
        }
    }
}

extension KernelSubkeyring {
    /// How often the user keyring is looked at again for what came while keys were removed.
    private static let rounds = 4

    /// The result of ``removeOfUser(where:)``.
    package struct RemovedKeys: Sendable {
        /// The names of the keys and rings that went.
        package var names: [[UInt8]] = []
        /// The errors of the removals that the kernel refused, and whether anything was not looked at.
        package var failures: [CofferError] = []
        /// The names that are still there.
        package var left: [[UInt8]] = []
        /// How many keys and rings went.
        package var count: Int { names.count }
    }

    /// Removes what lies in the user keyring, or in a ring within it, under a name that `matches` wants,
    /// whatever it is; also what cannot be read.
    package static func removeOfUser(
        where matches: (_ name: [UInt8]) -> Bool
    ) throws(CofferError) -> RemovedKeys {
        var removed = RemovedKeys()
        var tried: Set<Int> = []
        for round in 0..<rounds {
            let search = try KernelSubkeyringSearch.ofUser()
            let there = search.entries.filter { matches($0.name) }
            if search.isCut, round == 0 { removed.failures.append(tooMany) }
            let found = there.filter { tried.insert($0.key.number).inserted }
            guard !found.isEmpty else {
                // What the kernel still has is there, whatever it said before.
                removed.left = there.map(\.name)
                return removed
            }
            // One that is gone went with its ring.
            for entry in found where entry.key.label != nil {
                do throws(CofferError) {
                    try entry.remove()
                } catch {
                    guard entry.key.label == nil else {
                        removed.failures.append(error)
                        continue
                    }
                }
                removed.names.append(entry.name)
            }
        }
        removed.left = try KernelSubkeyringSearch.ofUser().entries.map(\.name).filter(matches)
        return removed
    }

    private static var tooMany: CofferError {
        CofferError(
            .unsupported,
            "The user keyring has more keys, or rings within rings, than were looked at: keyctl show @u "
                + "lists them; remove what is not needed, and lock again.")
    }
}

extension KernelSubkeyringSearch.Entry {
    /// Removes the key, or the ring with all that is in it.
    fileprivate func remove() throws(CofferError) {
        // First, so that the link does not count against the quota for ever: see KernelKey.invalidate.
        if ring != Int(KEY_SPEC_USER_KEYRING) { KernelKeyring.unlink(key.number, from: ring) }
        if isRing { try KernelSubkeyring(number: key.number).remove() } else { try key.remove() }
    }
}
