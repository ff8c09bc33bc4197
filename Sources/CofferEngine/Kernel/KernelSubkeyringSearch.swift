package import CofferBase
import CLinux

/// A breadth-first search of a ring and the rings within it. The search skips keys whose descriptions cannot
/// be read.
struct KernelSubkeyringSearch {
    struct Entry {
        let key: KernelKey
        let type: [UInt8]
        let name: [UInt8]
        /// The ring in which the key was found.
        let ring: Int

        var isRing: Bool { type == Array(KernelSubkeyring.type.utf8) }
    }

    /// The maximum depth of nested rings, which is the same as in the kernel's own search.
    private static let depth = 6
    private static let maxCount = 65_536

    private(set) var entries: [Entry] = []
    /// Whether the search reached its maximum number of keys or its maximum depth.
    private(set) var isCut = false
    private var seen: Set<Int>

    init(in ring: KernelSubkeyring) {
        seen = [ring.number]
        // A ring that does not list its keys, or was removed in the meantime, counts as empty.
        add((try? ring.keys()) ?? [], of: ring.number)
        descend()
    }

    /// Searches the user keyring and the rings within it.
    ///
    /// - Throws: An error if the user keyring cannot be listed.
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
            // Several rings may link the same key.
            guard seen.insert(key.number).inserted, let label = key.label else { continue }
            entries.append(Entry(key: key, type: label.type, name: label.name, ring: ring))
        }
    }
}

extension KernelSubkeyring {
    /// The maximum number of searches. Each search after the first looks for keys added during the removal.
    private static let rounds = 4

    /// The result of ``removeOfUser(where:)``.
    package struct RemovedKeys: Sendable {
        /// The names of the keys and rings that were removed.
        package var names: [[UInt8]] = []
        /// The errors from removals that the kernel refused and, if some keys were not examined, an error
        /// that reports this.
        package var failures: [CofferError] = []
        /// The names of the matching keys and rings that remain.
        package var remaining: [[UInt8]] = []
        /// The number of keys and rings that were removed.
        package var count: Int { names.count }
    }

    /// Removes every key and ring in the user keyring, and in the rings within it, whose name `matches`
    /// accepts, regardless of type and even if the key is unreadable.
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
                // Report the keys that still exist, even if the kernel reported that it removed them.
                removed.remaining = there.map(\.name)
                return removed
            }
            // A key without a label was removed with its ring.
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
        removed.remaining = try KernelSubkeyringSearch.ofUser().entries.map(\.name).filter(matches)
        return removed
    }

    private static var tooMany: CofferError {
        CofferError(
            .unsupported,
            "The user keyring contains more keys or nested keyrings than can be searched. List the keys with "
                + "keyctl show @u, remove the keys that are not needed, then lock the vault again.")
    }
}

extension KernelSubkeyringSearch.Entry {
    /// Removes the key or, for a ring, the ring and its contents.
    fileprivate func remove() throws(CofferError) {
        // Unlink first, so that the link does not count against the quota until a reboot: see
        // KernelKey.invalidate.
        if ring != Int(KEY_SPEC_USER_KEYRING) { KernelKeyring.unlink(key.number, from: ring) }
        if isRing { try KernelSubkeyring(number: key.number).remove() } else { try key.remove() }
    }
}
