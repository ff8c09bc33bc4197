import Coffer
import CofferBase
import Testing

/// The laws that every keyring keeps, whatever is behind it. No keyring has tests of its own for these.
struct ItemStorageContract: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let check: @Sendable (any StorageUnderTest) throws -> Void

    private init(_ name: String, _ check: @escaping @Sendable (any StorageUnderTest) throws -> Void) {
        testDescription = name
        self.check = check
    }

    static let laws = [
        ItemStorageContract("what is absent is nil") { backend in
            let keyring = try backend.open()
            #expect(try keyring.envelope(name(1)) == nil)
            #expect(try keyring.envelopes().isEmpty)
            #expect(try keyring.count() == 0)
            try keyring.remove(name(1))
            #expect(try keyring.count() == 0)
        },
        ItemStorageContract("bytes are exact, also after a restart") { backend in
            let keyring = try backend.open()
            for (number, value) in values.enumerated() { try keyring.put(value, for: name(number)) }
            for (number, value) in values.enumerated() {
                #expect(try keyring.envelope(name(number)) == value, "\(number)")
            }
            try backend.restart()
            let later = try backend.open()
            for (number, value) in values.enumerated() {
                #expect(try later.envelope(name(number)) == value, "\(number) after a restart")
            }
            #expect(try later.count() == values.count)
        },
        ItemStorageContract("a name has one value, the last") { backend in
            let keyring = try backend.open()
            for round in 0..<5 {
                try keyring.put([UInt8](repeating: 1, count: round * 100), for: name(1))
                #expect(try keyring.envelope(name(1))?.count == round * 100)
            }
            #expect(try keyring.count() == 1)
            try backend.restart()
            #expect(try backend.open().envelope(name(1))?.count == 400)
        },
        ItemStorageContract("names are told apart by every bit") { backend in
            let keyring = try backend.open()
            let names =
                [name(0)]
                + (0..<32).map { byte in
                    var other = name(0)
                    other[byte] ^= 0x80
                    return other
                }
            for (number, name) in names.enumerated() { try keyring.put([UInt8(number)], for: name) }
            for (number, name) in names.enumerated() {
                #expect(try keyring.envelope(name) == [UInt8(number)])
            }
            #expect(try Set(keyring.envelopes().keys) == Set(names))
        },
        ItemStorageContract("removing removes that one alone") { backend in
            let keyring = try backend.open()
            for number in 0..<3 { try keyring.put([UInt8(number)], for: name(number)) }
            try keyring.remove(name(1))
            try keyring.remove(name(1))
            try backend.restart()
            let later = try backend.open()
            #expect(try later.envelopes() == [name(0): [0], name(2): [2]])
            try later.put([9], for: name(1))
            #expect(try later.envelope(name(1)) == [9])
        },
        ItemStorageContract("several changes at once are all made") { backend in
            let keyring = try backend.open()
            try keyring.apply([name(1): .put([1]), name(2): .put([2]), name(3): .remove])
            try keyring.apply([name(1): .remove, name(2): .put([3]), name(4): .put([])])
            try keyring.apply([:])
            #expect(try keyring.envelopes() == [name(2): [3], name(4): []])
        },
        ItemStorageContract("another owner's changes are seen") { backend in
            let first = try backend.open()
            let second = try backend.open()
            for round in 0..<5 {
                try first.put([UInt8(round)], for: name(1))
                #expect(try second.envelope(name(1)) == [UInt8(round)])
                try second.put([UInt8(round), 1], for: name(1))
                #expect(try first.envelope(name(1)) == [UInt8(round), 1])
                #expect(try first.count() == 1)
            }
            try second.remove(name(1))
            #expect(try first.envelope(name(1)) == nil)
        },
        ItemStorageContract("many items stay") { backend in
            let keyring = try backend.open()
            for number in 0..<150 { try keyring.put(value(number), for: name(number)) }
            try backend.restart()
            let later = try backend.open()
            let all = try later.envelopes()
            #expect(all.count == 150)
            for number in 0..<150 { #expect(all[name(number)] == value(number)) }
            try later.apply(Dictionary(uniqueKeysWithValues: (0..<150).map { (name($0), .remove) }))
            #expect(try later.count() == 0)
        },
    ]

    /// Values that keyrings have mishandled: none, newlines, NUL, backslashes, invalid UTF-8, long ones.
    private static let values: [[UInt8]] = [
        [], [0], [10], Array("a\nb\r\n[item]\n\0c\\n\\\\ =;#".utf8), [0xff, 0xfe, 0xc0, 0x80], Array(0...255),
        [UInt8](repeating: 10, count: 1000), value(64 << 10), value((1 << 20) + 4096),
    ]

    static func name(_ number: Int) -> [UInt8] {
        (0..<32).map { UInt8(truncatingIfNeeded: number >> (8 * ($0 % 4)) &+ $0) }
    }

    private static func value(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ count) }
    }
}

/// A backend with nothing in it.
protocol StorageUnderTest: AnyObject {
    /// A keyring on it, as another owner or process would open it.
    func open() throws -> any ItemStorage
    /// Ends the service behind it and starts it again.
    func restart() throws
}
