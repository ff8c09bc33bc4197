/// The documented key scheme computed by Python's hashlib: another language and another library.
package enum DocumentedKeyOracle {
    /// One input and what must come of it.
    package struct Answer: Sendable {
        /// An upper-case UUID with dashes.
        package let uuid: String
        /// Empty in most.
        package let label: String
        /// Empty when there is none.
        package let passcode: String
        /// Empty without a passcode.
        package let passcodeHash: String
        /// 64 hexadecimal digits.
        package let key: String
    }

    private static let script = """
        import base64, hashlib, random, sys, uuid
        source = random.Random(int(sys.argv[1]))
        letters = '0123456789abcXYZ ~%äöüßé€𝄞\\u0301\\u00a0\\u4e2d'
        for number in range(int(sys.argv[2])):
            name = str(uuid.UUID(int=source.getrandbits(128), version=4)).upper()
            digits = number % 3 == 0
            size = source.randrange(4, 9) if digits else source.randrange(0, 200)
            passcode = ''.join(source.choice('0123456789' if digits else letters) for _ in range(size))
            long = 0 if number % 4 else source.randrange(0, 40)
            label = ''.join(source.choice(letters) for _ in range(long))
            code = base64.b64encode(hashlib.sha256(passcode.encode()).digest()).decode() if passcode else ''
            key = hashlib.sha256((name + label + code).encode()).hexdigest()
            print('\\t'.join([name, label.encode().hex(), passcode.encode().hex(), code, key]))
        """

    /// `count` inputs drawn from `seed`, with their answers.
    package static func answers(count: Int, seed: Int) throws -> [Answer] {
        let run = try CommandRun.run("python3", ["-c", script, String(seed), String(count)])
        return run.text.split(separator: "\n").map { line in
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            return Answer(
                uuid: fields[0], label: text(fields[1]), passcode: text(fields[2]), passcodeHash: fields[3],
                key: fields[4])
        }
    }

    private static func text(_ hex: String) -> String {
        let digits = hex.compactMap(\.hexDigitValue)
        let bytes = stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
        return String(decoding: bytes, as: UTF8.self)
    }
}
