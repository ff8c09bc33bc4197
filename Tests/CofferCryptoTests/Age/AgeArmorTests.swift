import CofferBase
import CofferCrypto
import CofferEngine
import Foundation
import Testing
import TestSupport

@Suite("age armor")
struct AgeArmorTests {
    private let identity: AgeIdentity

    init() throws { identity = try AgeIdentity.generate() }

    private static let begin = "-----BEGIN AGE ENCRYPTED FILE-----"
    private static let end = "-----END AGE ENCRYPTED FILE-----"

    private func lines(_ file: [UInt8]) -> [String] {
        Data(file).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
            .split(separator: "\n").map(String.init)
    }

    @Test(
        "Armored files of any size are read, in pieces of any size",
        arguments: [0, 1, 2, 47, 48, 49, 70_000, 300_000])
    func sizes(_ count: Int) throws {
        let plaintext = AgeFiles.sample(count)
        let body = lines(try AgeFiles.encrypted(plaintext, to: [identity.recipient]))
        for (separator, end) in [("\n", "\n"), ("\r\n", "\r\n"), ("\n", ""), ("\n", "\n \t\n")] {
            let text = ([Self.begin] + body + [Self.end]).joined(separator: separator) + end
            for step in [Int.max, 1000, count < 100 ? 1 : 65_536] {
                let read = AgeFiles.decrypted(Array(text.utf8), [identity], step: step)
                #expect(read.code == nil && read.plaintext == plaintext, "\(separator.utf8.count) \(step)")
                let led = AgeFiles.decrypted(
                    Array("\n  \r\n".utf8) + Array(text.utf8), [identity], step: step)
                #expect(led.code == nil && led.plaintext == plaintext)
            }
        }
    }

    @Test("Armor in any other form is refused")
    func refusals() throws {
        let body = lines(try AgeFiles.encrypted(AgeFiles.sample(100), to: [identity.recipient]))
        func code(_ lines: [String]) -> CofferError.Code? {
            AgeFiles.decrypted(Array(lines.joined(separator: "\n").utf8), [identity]).code
        }
        #expect(code([Self.begin] + body + [Self.end]) == nil)
        let short = String(body[0].dropLast(4))
        func armored(_ body: [String]) -> [String] { [Self.begin] + body + [Self.end] }
        var bad: [[String]] = [
            [Self.begin], [Self.begin, Self.end], [Self.begin, body.joined(), Self.end],
            armored(["", body.joined()]), armored(["A: B", ""] + body), armored([""] + body),
            armored(body + [""]), armored(body + ["AAAA"]), armored([short] + body.dropFirst()),
            armored(body.map { $0 + "A" }), armored(body.map { $0 + " " }),
        ]
        bad.append([Self.begin] + body)
        bad.append(body + [Self.end])
        for (begin, end) in [
            (" " + Self.begin, Self.end), (Self.begin + " ", Self.end), (Self.begin, Self.end + " "),
            (Self.begin.lowercased(), Self.end.lowercased()),
            (Self.begin.replacing("AGE", with: "PGP"), Self.end), (Self.begin, Self.end + "\nx"),
            (String(repeating: "\n", count: 2000) + Self.begin, Self.end),
            (Self.begin, Self.end + String(repeating: "\n", count: 2000)),
        ] {
            bad.append([begin] + body + [end])
        }
        for lines in bad { #expect(code(lines) == .corrupt, "\(lines.prefix(3))") }
    }

    @Test("Every cut of an armored file is refused, and only its beginning is read")
    func cuts() throws {
        let body = lines(try AgeFiles.encrypted([1, 2, 3], to: [identity.recipient]))
        let text = Array(([Self.begin] + body + [Self.end]).joined(separator: "\n").utf8)
        for count in text.indices {
            #expect(AgeFiles.decrypted(Array(text.prefix(count)), [identity]).code == .corrupt, "\(count)")
        }
        #expect(AgeFiles.decrypted(text, [identity]).plaintext == [1, 2, 3])
    }
}
