import Foundation
import Testing
import TestSupport

@Suite("coffer crypt")
struct CryptCommandTests {
    private static let keys = [
        16: "000102030405060708090a0b0c0d0e0f",
        24: "000102030405060708090a0b0c0d0e0f1011121314151617",
        32: "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
    ]
    private static let iv = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"
    private static let sizes = [0, 1, 15, 16, 17, 4096, 100_003]

    private func message(_ size: Int) -> [UInt8] { (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7) } }

    private func key(_ size: Int) throws -> String { try #require(Self.keys[size]) }

    private func crypt(
        _ direction: String, _ scheme: String, key: String, _ more: [String] = [], input: [UInt8]
    ) throws -> CommandRun {
        try CommandRun.run(
            CommandRun.cofferPath, ["crypt", direction, "--scheme", scheme, "--key-hex-fd", "3"] + more,
            input: input, descriptors: [3: Array((key + "\n").utf8)])
    }

    @Test(
        "decrypt returns what encrypt took, and the message between has the documented size",
        arguments: [
            ("documented-cbc", 16), ("documented-cbc", 32), ("cbc-hmac", 32), ("aes-gcm", 16),
            ("aes-gcm", 24),
            ("aes-gcm", 32),
        ])
    func roundTrip(_ scheme: String, _ keySize: Int) throws {
        let key = try key(keySize)
        for size in Self.sizes {
            let plaintext = message(size)
            let sealed = try crypt("encrypt", scheme, key: key, input: plaintext)
            #expect(sealed.code == 0 && sealed.errors.isEmpty)
            let padded = (size / 16 + 1) * 16
            let expected =
                switch scheme {
                case "aes-gcm": 12 + size + 16
                case "cbc-hmac": 8 + 16 + padded + 32
                default: 16 + padded
                }
            #expect(sealed.output.count == expected)
            let opened = try crypt("decrypt", scheme, key: key, input: sealed.output)
            #expect(opened.code == 0 && opened.output == plaintext)
        }
    }

    @Test("openssl enc reads what documented-cbc writes, and the other way round", arguments: [16, 32])
    func openssl(_ keySize: Int) throws {
        let key = try key(keySize)
        let cipher = ["enc", "-aes-\(keySize * 8)-cbc", "-K", key, "-iv", Self.iv]
        for size in Self.sizes {
            let plaintext = message(size)
            let ours = try crypt(
                "encrypt", "documented-cbc", key: key, ["--iv-hex", Self.iv], input: plaintext)
            let theirs = try CommandRun.run("openssl", cipher, input: plaintext)
            #expect(ours.code == 0 && theirs.code == 0 && ours.output == theirs.output)
            let read = try CommandRun.run("openssl", cipher + ["-d"], input: ours.output)
            #expect(read.output == plaintext)
            let opened = try crypt(
                "decrypt", "documented-cbc", key: key, ["--iv-hex", Self.iv], input: theirs.output)
            #expect(opened.code == 0 && opened.output == plaintext)
            // The IV in front is the documented form of the same message.
            let front = [UInt8](hexText: Self.iv) + theirs.output
            #expect(try crypt("decrypt", "documented-cbc", key: key, input: front).output == plaintext)
        }
    }

    @Test("pbkdf2-cbc: the key that openssl derives with the same parameters", arguments: ["sha1", "sha256"])
    func pbkdf2(_ prf: String) throws {
        let plaintext = message(1000)
        let options = [
            "--prf", prf, "--salt-hex", "0011223344556677", "--rounds", "1000", "--passcode-fd", "4",
        ]
        let sealed = try CommandRun.run(
            CommandRun.cofferPath, ["crypt", "encrypt", "--scheme", "pbkdf2-cbc"] + options,
            input: plaintext, descriptors: [4: Array("a secret".utf8)])
        #expect(sealed.code == 0)
        let derived = try CommandRun.run(
            CommandRun.cofferPath, ["key", "pbkdf2", "--length", "32"] + options,
            descriptors: [4: Array("a secret".utf8)])
        let key = derived.text.trimmingCharacters(in: .newlines)
        let iv = sealed.output.prefix(16).map { String(format: "%02x", $0) }.joined()
        let read = try CommandRun.run(
            "openssl", ["enc", "-d", "-aes-256-cbc", "-K", key, "-iv", iv],
            input: Array(sealed.output.dropFirst(16)))
        #expect(read.output == plaintext)
        let opened = try CommandRun.run(
            CommandRun.cofferPath, ["crypt", "decrypt", "--scheme", "pbkdf2-cbc"] + options,
            input: sealed.output, descriptors: [4: Array("a secret".utf8)])
        #expect(opened.code == 0 && opened.output == plaintext)
    }

    @Test(
        "A changed message exits 7 with one sentence and no output",
        arguments: ["cbc-hmac", "aes-gcm"])
    func changed(_ scheme: String) throws {
        let key = try key(32)
        let sealed = try crypt("encrypt", scheme, key: key, input: message(40)).output
        var messages: Set<String> = []
        for index in stride(from: 0, to: sealed.count, by: 5) {
            var changed = sealed
            changed[index] ^= 0x10
            let run = try crypt("decrypt", scheme, key: key, input: changed)
            #expect(run.code == 7 && run.output.isEmpty)
            messages.insert(run.errorText)
        }
        for cut in [Array(sealed.dropLast()), Array(sealed.dropFirst()), Array(sealed.prefix(9)), []] {
            let run = try crypt("decrypt", scheme, key: key, input: cut)
            #expect(run.code == 7 && run.output.isEmpty)
            messages.insert(run.errorText)
        }
        #expect(messages.count == 1)
    }

    @Test("The padding oracle has one answer")
    func paddingOracle() throws {
        let key = try key(32)
        let sealed = try crypt("encrypt", "documented-cbc", key: key, input: message(20)).output
        var answers: Set<String> = []
        for last in stride(from: UInt8(1), to: 255, by: 23) {
            var changed = sealed
            changed[changed.count - 17] ^= last
            let run = try crypt("decrypt", "documented-cbc", key: key, input: changed)
            if run.code != 0 { answers.insert("\(run.code) \(run.errorText) \(run.output)") }
        }
        for size in [0, 1, 16, 31, 33] {
            let run = try crypt("decrypt", "documented-cbc", key: key, input: Array(sealed.prefix(size)))
            answers.insert("\(run.code) \(run.errorText) \(run.output)")
        }
        #expect(answers.count == 1)
        #expect(answers.first?.hasPrefix("7 ") == true)
    }

    @Test(
        "Wrong sizes and missing options are usage errors",
        arguments: [
            ("documented-cbc", "00"), ("documented-cbc", "000102030405060708090a0b0c0d0e0f1011121314151617"),
            ("cbc-hmac", "000102030405060708090a0b0c0d0e0f"), ("aes-gcm", "0001020304050607"),
            ("aes-gcm", ""),
            ("aes-gcm", "0"), ("aes-gcm", "zz"), ("pbkdf2-cbc", "00"), ("rot13", "00"),
        ])
    func wrongSizes(_ scheme: String, _ key: String) throws {
        for direction in ["encrypt", "decrypt"] {
            let run = try crypt(direction, scheme, key: key, input: message(64))
            #expect(run.code == 64 && run.output.isEmpty && !run.errors.isEmpty)
        }
    }

    @Test("An IV is refused where it is wrong")
    func wrongIVs() throws {
        let key = try key(32)
        for (scheme, iv) in [
            ("documented-cbc", "00"), ("documented-cbc", "zz"), ("aes-gcm", "000102030405060708090a0b"),
            ("aes-gcm", Self.iv), ("cbc-hmac", Self.iv),
        ] {
            let run = try crypt("encrypt", scheme, key: key, ["--iv-hex", iv], input: message(3))
            #expect(run.code == 64 && run.output.isEmpty)
        }
        let sealed = try crypt("encrypt", "aes-gcm", key: key, input: message(30)).output
        let nonce = sealed.prefix(12).map { String(format: "%02x", $0) }.joined()
        let apart = try crypt(
            "decrypt", "aes-gcm", key: key, ["--iv-hex", nonce], input: Array(sealed.dropFirst(12)))
        #expect(apart.code == 0 && apart.output == message(30))
    }
}

extension [UInt8] {
    fileprivate init(hexText: String) {
        let digits = hexText.compactMap(\.hexDigitValue)
        self = stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
