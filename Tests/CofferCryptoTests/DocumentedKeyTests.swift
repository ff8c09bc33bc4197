import CofferBase
import CofferCrypto
import CofferEngine
import Testing
import TestSupport

@Suite("Documented key")
struct DocumentedKeyTests {
    @Test("1000 random inputs make the same keys as Python's hashlib")
    func oracle() throws {
        let answers = try DocumentedKeyOracle.answers(count: 1000, seed: 1)
        #expect(answers.count == 1000)
        for answer in answers {
            let expected = try #require(HexText.decode(answer.key))
            let key = try SymmetricKey.copying(expected.span)
            let passcode = answer.passcode.isEmpty ? nil : try SecretBytes.copying(answer.passcode)
            let made = try Insecure.DocumentedKey.key(
                uuid: answer.uuid, label: answer.label, passcode: passcode)
            let isEqual = made.isEqual(to: key)
            #expect(isEqual)
            let bytes = try Insecure.DocumentedKey.exposingKey(
                uuid: answer.uuid, label: answer.label, passcode: passcode)
            let copied = bytes.exposing { span in span.copied() }
            #expect(copied == expected)
            #expect(try hash(of: passcode) == answer.passcodeHash)
        }
    }

    private func hash(of passcode: borrowing SecretBytes?) throws -> String {
        switch passcode {
        case .none: return ""
        case .some(let passcode):
            let hash = try Insecure.DocumentedKey.passcodeHash(of: passcode)
            return hash.exposing { span in String(decoding: span.copied(), as: UTF8.self) }
        }
    }

    @Test("A UUID is needed")
    func emptyUUID() throws {
        #expect(throws: CofferError.self) { _ = try Insecure.DocumentedKey.key(uuid: "", passcode: nil) }
    }
}
