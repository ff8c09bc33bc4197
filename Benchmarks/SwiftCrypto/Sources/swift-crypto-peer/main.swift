import Crypto
import CryptoExtras
import Foundation

// swift-crypto as a Swift program uses it, for `bench` to compare with. It answers each line of input with
// one line:
//
//     OPERATION SIZE COUNT KEY NONCE → ok and the SHA-256 of the last result
//
// OPERATION is gcm-seal, gcm-open, cbc256-encrypt, cbc256-decrypt or pbkdf2-sha256, and runs COUNT times;
// SIZE counts the bytes of the message, whose byte i is i modulo 256, or of the derived key. KEY, NONCE and
// the answer are in hexadecimal.

/// The inputs of one operation, created once and kept for the lines that follow.
struct Work {
    let operation: String
    let size: Int
    let key: SymmetricKey
    let secret: [UInt8]
    let nonce: [UInt8]
    let message: Data
    let sealed: Data

    init(operation: String, size: Int, key: [UInt8], nonce: [UInt8]) throws {
        self.operation = operation
        self.size = size
        self.key = SymmetricKey(data: key)
        secret = key
        self.nonce = nonce
        let isMessage = operation != "pbkdf2-sha256"
        message = Data((0..<(isMessage ? size : 0)).map { UInt8(truncatingIfNeeded: $0) })
        sealed =
            switch operation {
            case "gcm-open": try Work.seal(message, self.key, nonce)
            case "cbc256-decrypt":
                try AES._CBC.encrypt(message, using: self.key, iv: AES._CBC.IV(ivBytes: nonce))
            default: Data()
            }
    }

    static func seal(_ message: Data, _ key: SymmetricKey, _ nonce: [UInt8]) throws -> Data {
        let box = try AES.GCM.seal(message, using: key, nonce: AES.GCM.Nonce(data: nonce))
        return box.ciphertext + box.tag
    }

    /// Runs the operation this many times and returns the last result.
    func run(_ count: Int) throws -> Data {
        var result = Data()
        switch operation {
        case "gcm-seal":
            let nonce = try AES.GCM.Nonce(data: nonce)
            var box: AES.GCM.SealedBox?
            for _ in 0..<count { box = try AES.GCM.seal(message, using: key, nonce: nonce) }
            if let box { result = box.ciphertext + box.tag }
        case "gcm-open":
            let nonce = try AES.GCM.Nonce(data: nonce)
            for _ in 0..<count {
                let box = try AES.GCM.SealedBox(
                    nonce: nonce, ciphertext: sealed.prefix(size), tag: sealed.suffix(16))
                result = try AES.GCM.open(box, using: key)
            }
        case "cbc256-encrypt":
            let iv = try AES._CBC.IV(ivBytes: nonce)
            for _ in 0..<count { result = try AES._CBC.encrypt(message, using: key, iv: iv) }
        case "cbc256-decrypt":
            let iv = try AES._CBC.IV(ivBytes: nonce)
            for _ in 0..<count { result = try AES._CBC.decrypt(sealed, using: key, iv: iv) }
        case "pbkdf2-sha256":
            for _ in 0..<count { result = try derive() }
        default: throw Unknown()
        }
        return result
    }

    /// The key is the secret, the nonce the salt.
    private func derive() throws -> Data {
        let derived = try KDF.Insecure.PBKDF2.deriveKey(
            from: secret, salt: nonce, using: .sha256, outputByteCount: size, unsafeUncheckedRounds: 600_000)
        return derived.withUnsafeBytes { Data($0) }
    }
}

struct Unknown: Error {}

func bytes(_ hex: Substring) -> [UInt8] {
    let digits = Array(hex.utf8).compactMap { UInt8(String(UnicodeScalar($0)), radix: 16) }
    return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

func hex(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
}

/// Remembers the work of the previous line.
struct Answers {
    private var last: (kind: [Substring], work: Work)?

    mutating func answer(_ line: String) throws -> String {
        let words = line.split(separator: " ")
        guard words.count == 5, let size = Int(words[1]), let count = Int(words[2]), size >= 0, count > 0
        else { throw Unknown() }
        let kind = [words[0], words[1], words[3], words[4]]
        if let last, last.kind == kind { return try Self.digest(last.work.run(count)) }
        let work = try Work(
            operation: String(words[0]), size: size, key: bytes(words[3]), nonce: bytes(words[4]))
        last = (kind, work)
        return try Self.digest(work.run(count))
    }

    private static func digest(_ result: Data) -> String { "ok " + hex(SHA256.hash(data: result)) }
}

var answers = Answers()
while let line = readLine() {
    var reply: String
    do {
        reply = try answers.answer(line)
    } catch {
        reply = "failed: \(error)"
    }
    FileHandle.standardOutput.write(Data((reply + "\n").utf8))
}
