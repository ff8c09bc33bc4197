import CofferBase
import CofferCrypto
import CofferEngine
import Testing
import TestSupport

@Suite("age recipients and identities")
struct AgeKeyTests {
    // The pair in the test kit of the age specification.
    private static let identity = "AGE-SECRET-KEY-1EGTZVFFV20835NWYV6270LXYVK2VKNX2MMDKWYKLMGR48UAWX40Q2P2LM0"
    private static let recipient = "age1xmwwc06ly3ee5rytxm9mflaz2u56jjj36s0mypdrwsvlul66mv4q47ryef"

    private static let alphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

    private func parsed(_ text: String) throws -> AgeIdentity { try AgeIdentity.parse(Array(text.utf8).span) }

    @Test("An identity's recipient, and both texts, are those of the specification")
    func published() throws {
        let identity = try parsed(Self.identity)
        #expect(identity.recipient.description.hasSameBytes(as: Self.recipient))
        #expect(bytes(try identity.text()) == Array(Self.identity.utf8))
        #expect(try AgeRecipient(Self.recipient) == identity.recipient)
    }

    @Test("New identities differ and come back from their text")
    func generated() throws {
        let (one, two) = (try AgeIdentity.generate(), try AgeIdentity.generate())
        #expect(one.recipient != two.recipient)
        let again = try AgeIdentity.parse(bytes(try one.text()).span)
        #expect(again.recipient == one.recipient)
        #expect(try AgeRecipient(one.recipient.description) == one.recipient)
    }

    @Test("Every other single character, case, length and order is refused, in both texts")
    func refusals() throws {
        for (text, isRecipient) in [(Self.recipient, true), (Self.identity, false)] {
            let original = Array(text.utf8)
            func refused(_ bytes: [UInt8]) -> Bool {
                let code = failure {
                    if isRecipient {
                        _ = try AgeRecipient(String(decoding: bytes, as: UTF8.self))
                    } else {
                        _ = try AgeIdentity.parse(bytes.span)
                    }
                }
                return code == .invalidInput
            }
            #expect(!refused(original))
            for index in original.indices {
                let alphabet = Array((isRecipient ? Self.alphabet : Self.alphabet.uppercased()).utf8)
                let flipped = (0..<8).map { original[index] ^ 1 << UInt8($0) }
                for byte in alphabet + flipped + [0, UInt8(ascii: "b")] where byte != original[index] {
                    var changed = original
                    changed[index] = byte
                    #expect(refused(changed), "\(index) \(byte)")
                }
                #expect(refused(Array(original[..<index])))
                #expect(refused(original.enumerated().filter { $0.offset != index }.map(\.element)))
                #expect(refused(Array(original[..<index] + [UInt8(ascii: "q")] + original[index...])))
                if index > 0, original[index] != original[index - 1] {
                    var swapped = original
                    swapped.swapAt(index, index - 1)
                    #expect(refused(swapped), "swapped at \(index)")
                }
            }
            let other = isRecipient ? text.uppercased() : text.lowercased()
            #expect(refused(Array(other.utf8)))
            for around in [" " + text, text + " ", text + "\n", text + "\0", ""] {
                #expect(refused(Array(around.utf8)))
            }
        }
        #expect(failure { _ = try AgeRecipient(Self.identity) } == .invalidInput)
        #expect(failure { _ = try parsed(Self.recipient) } == .invalidInput)
    }

    @Test("Text whose unused bits are set is refused, although its checksum is right")
    func padding() throws {
        // The recipient above with 1, 8 and 15 added to the last symbol of its data, and the checksum that
        // BIP 173 has for that.
        for end in ["pggh3ym", "gt28g85", "02nscx3"] {
            let start = Self.recipient.prefix(Self.recipient.utf8.count - 7)
            let padded = start + end
            #expect(padded.utf8.count == Self.recipient.utf8.count)
            #expect(failure { _ = try AgeRecipient(String(padded)) } == .invalidInput)
        }
    }

    @Test("Files list one per line, with comments and blank lines, in either line ending")
    func lists() throws {
        let two = try AgeIdentity.generate().recipient
        let text = "# mine\r\n\(Self.recipient)\r\n\n\(two)\n#"
        let recipients = try AgeRecipient.list(in: Array(text.utf8).span)
        #expect(recipients.map(\.description) == [Self.recipient, "\(two)"])
        let keys = "# created: 2026-01-01T00:00:00Z\n# public key: \(Self.recipient)\n\(Self.identity)\n"
        let identities = try AgeIdentity.list(in: Array(keys.utf8).span)
        #expect(identities.map(\.recipient.description) == [Self.recipient])
        for bad in [
            "", "\n# nothing\n", " \(Self.recipient)", "\(Self.recipient) # mine", "\(Self.recipient)\nage1",
        ] {
            let code = failure { _ = try AgeRecipient.list(in: Array(bad.utf8).span) }
            #expect(code == .invalidInput, "\(bad)")
        }
        let wrong = "#\n\(Self.identity)\n\(Self.identity.dropLast())X\n"
        #expect {
            _ = try AgeIdentity.list(in: Array(wrong.utf8).span)
        } throws: { error in
            let message = (error as? CofferError)?.message ?? ""
            return message.contains("Line 3") && !message.contains("EGTZVFF")
        }
    }
}
