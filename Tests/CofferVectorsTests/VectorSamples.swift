/// Small vector files for the tests of the runner.
enum VectorSamples {
    /// Test case 13 of the GCM specification with a message added (OpenSSL and Python's cryptography agree).
    static let gcm = [
        "\"key\": \"00000000000000000000000000000000\"", "\"iv\": \"000000000000000000000000\"",
        "\"aad\": \"\"", "\"msg\": \"00000000000000000000000000000000\"",
        "\"ct\": \"0388dace60b6a392f328c2b971b2fe78\"", "\"tag\": \"ab6e47d42cec13bdf53a67b21257bddf\"",
        "\"result\": \"valid\"",
    ].joined(separator: ", ")

    /// RFC 4231 section 4.3.
    static let mac = [
        "\"key\": \"4a656665\"", "\"msg\": \"7768617420646f2079612077616e7420666f72206e6f7468696e673f\"",
        "\"tag\": \"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843\"",
        "\"result\": \"valid\"",
    ].joined(separator: ", ")

    /// RFC 7914 section 11, cut to 16 bytes.
    static let derivation = [
        "\"password\": \"706173737764\"", "\"salt\": \"73616c74\"", "\"iterationCount\": 1", "\"dkLen\": 16",
        "\"dk\": \"55ac046e56e3089fec1691c22544b605\"", "\"result\": \"valid\"",
    ].joined(separator: ", ")

    /// A file with these tests, numbered from 1 unless they number themselves.
    static func file(
        _ algorithm: String, _ type: String, _ tests: [String], declared: Int? = nil, group: String = "",
        top: String = ""
    ) -> [UInt8] {
        let numbered = tests.enumerated().map { index, test in
            test.contains("tcId") ? "{\(test)}" : "{\"tcId\": \(index + 1), \(test)}"
        }
        return Array(
            """
            {"algorithm": "\(algorithm)", \(top)"numberOfTests": \(declared ?? tests.count), "testGroups": [
            {"type": "\(type)", \(group)"tests": [\(numbered.joined(separator: ",\n"))]}]}
            """.utf8)
    }

    /// The same with the algorithm of ``gcm``.
    static func gcmFile(_ tests: [String], declared: Int? = nil, group: String = "", top: String = "")
        -> [UInt8]
    {
        file("AES-GCM", "AeadTest", tests, declared: declared, group: group, top: top)
    }
}
