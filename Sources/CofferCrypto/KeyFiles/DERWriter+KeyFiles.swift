/// The elements of key files.
extension DERWriter {
    static let null: [UInt8] = [0x05, 0x00]

    static func sequence(_ parts: [UInt8]...) -> [UInt8] { element(0x30, Array(parts.joined())) }
    static func oid(_ content: [UInt8]) -> [UInt8] { element(0x06, content) }
    static func octets(_ content: [UInt8]) -> [UInt8] { element(0x04, content) }
    static func explicit(_ content: [UInt8]) -> [UInt8] { element(0xA0, content) }

    static func number(_ number: Int) -> [UInt8] {
        positive((0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) })
    }
}
