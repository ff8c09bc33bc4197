import Synchronization

/// A recorder of the shape of every access to a database's files, for the test that lists all shapes.
package final class AccessTrace: Sendable {
    /// A kind of file that SQLite accesses.
    package enum File: String, Sendable { case main, journal, wal }

    private let shapes = Mutex<Set<String>>([])

    package init() {}

    /// All recorded shapes, such as `main read page`.
    package var seen: Set<String> { shapes.withLock { $0 } }

    func note(_ file: File, _ shape: String) {
        shapes.withLock { _ = $0.insert("\(file.rawValue) \(shape)") }
    }
}
