@testable import Coffer
import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

/// A mailbox with unexpectedly many names: 20 000 here, or the number in COFFER_ORDERS when run by hand
/// (`Tests/Faults/many_orders.sh`).
@Suite("Many orders in a mailbox")
struct ManyOrdersTests {
    private static let count =
        ProcessInfo.processInfo.environment["COFFER_ORDERS"].flatMap { Int($0) } ?? 20_000
    /// So that not all of them are told at once.
    private static let size = 1000
    private static let mostBytes = 16 << 20

    /// A file that is no order, unlike every other.
    private static func junk(_ number: Int) -> [UInt8] {
        Array("\(number)\n".utf8).resized(to: size)
    }

    @Test("Polls are bounded, deliver the newest orders first and lose none")
    func many() async throws {
        let scene = try await OrderFixture.make(nil)
        let box = try ScratchDirectory.make()
        var changed: [[UInt8]: Int64] = [:]
        for number in 0..<Self.count {
            let name = FilePath("\(number).order")
            try box.write(name, Self.junk(number))
            if let status = try box.descriptor.status(of: name) {
                changed[Self.junk(number).head] = status.changed
            }
        }
        let order = try scene.order()
        try box.write("valid.order", order)
        let source = DirectoryRevocationSource(box.path)
        var polls = 0
        while true {
            let orders = try await source.poll().map(\.bytes)
            guard !orders.isEmpty else { break }
            polls += 1
            let total = orders.reduce(0) { $0 + $1.count }
            #expect(total < Self.mostBytes + Self.size)
            let toldNow = orders.compactMap { changed.removeValue(forKey: $0.head) }
            #expect(toldNow.count == orders.count - (polls == 1 ? 1 : 0))
            // The valid one is the newest, and in each poll what is told is newer than what waits.
            if polls == 1 { #expect(orders.contains(order)) }
            if let oldest = toldNow.min(), let waiting = changed.values.max() { #expect(oldest >= waiting) }
            for bytes in orders { await source.didHandle(.order(bytes)) }
        }
        #expect(changed.isEmpty && polls == (Self.count * Self.size) / Self.mostBytes + 1)
        // Beside so many names that were judged, a new one is told at once and alone.
        let late = try scene.order(.heartbeat, counter: 2)
        try box.write("late.order", late)
        #expect(try await source.poll() == [.order(late)])
    }
}

extension [UInt8] {
    /// The first eight bytes, which identify a file.
    fileprivate var head: [UInt8] { Array(prefix(8)) }

    fileprivate func resized(to count: Int) -> [UInt8] {
        self + [UInt8](repeating: 0, count: count - self.count)
    }
}

extension Revocation {
    fileprivate var bytes: [UInt8] {
        guard case .order(let bytes) = self else { return [] }
        return bytes
    }
}
