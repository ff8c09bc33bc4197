public import CofferBase
import CofferCrypto
import CofferEngine
import Synchronization
public import SystemPackage

/// Signed orders that somebody puts into a directory as files whose names end in `.order`.
///
/// The directory is only read: it may belong to the administrator. Each file is told once in the life of this
/// source, and again when it changes; links, pipes and what is longer than an order are told as what they are
/// not, or passed over. At most 256 files are looked at.
public final class MailboxRevocationSource: RevocationSource {
    /// The directory.
    public let directory: FilePath
    private let told = Mutex<Set<[UInt8]>>([])
    private static let mostFiles = 256

    /// A source that reads `directory`.
    public init(_ directory: FilePath) { self.directory = directory }

    /// The orders that have not been told yet, in the order of their names.
    ///
    /// - Throws: What hinders reading the directory; `absent` when there is none.
    public func poll() async throws(CofferError) -> [Revocation] {
        try await BlockingWork.run { [self] _ throws(CofferError) in
            let box = try Descriptor.open(directory, [.read, .directory])
            let names = try box.names().filter { $0.string.utf8.hasSuffix(".order") }
            var orders: [Revocation] = []
            for name in names.sorted(by: { $0.string < $1.string }).prefix(Self.mostFiles) {
                guard let bytes = Self.contents(name, in: box) else { continue }
                let digest = try Digest.sha256.hash(bytes.span)
                guard told.withLock({ $0.insert(digest).inserted }) else { continue }
                orders.append(.order(bytes))
            }
            return orders
        }
    }

    /// One byte more than an order has, at most; `nil` for what cannot be read or is no file.
    private static func contents(_ name: FilePath, in box: borrowing Descriptor) -> [UInt8]? {
        guard let file = try? box.open(name, .read), let status = try? file.status(),
            status.kind == .regular
        else { return nil }
        var bytes = [UInt8](
            repeating: 0, count: min(Int(clamping: status.size), UnverifiedWipeOrder.longest + 1))
        var span = bytes.mutableSpan
        guard let count = try? file.read(at: 0, into: &span) else { return nil }
        return Array(bytes.prefix(count))
    }
}
