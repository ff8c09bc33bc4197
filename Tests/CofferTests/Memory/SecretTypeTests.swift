import Testing
import TestSupport

/// Misuse of secret types that the compiler must reject, with the reason named here.
@Suite("Operations that secret types do not allow")
struct SecretTypeTests {
    private func check(_ line: String) throws -> CommandRun {
        try TypeCheck.run("import Coffer\nimport CofferCrypto\n\(line)\n")
    }

    @Test("Constant-time comparison and exposure in a closure compile")
    func control() throws {
        let run = try check(
            """
            func a(_ a: borrowing SymmetricKey, _ b: borrowing SymmetricKey) -> Bool { a.isEqual(to: b) }
            func b(_ a: borrowing SecretBytes, _ b: borrowing SecretBytes) -> Bool { a.isEqual(to: b) }
            func c(_ a: Token) -> Int { a.exposing { $0.count } }
            """)
        #expect(run.code == 0, "\(run.errorText)")
    }

    @Test(
        "Comparing by ==, printing, hashing and encoding do not compile",
        arguments: [
            (
                "(_ a: borrowing SymmetricKey, _ b: borrowing SymmetricKey) -> Bool { a == b }",
                "operator '=='"
            ),
            ("(_ a: borrowing SecretBytes, _ b: borrowing SecretBytes) -> Bool { a == b }", "operator '=='"),
            ("(_ a: borrowing SecretBytes, _ b: borrowing SecretBytes) -> Bool { a != b }", "operator '!='"),
            ("(_ a: Token, _ b: Token) -> Bool { a == b }", "operator '=='"),
            ("(_ a: Passcode, _ b: Passcode) -> Bool { a == b }", "operator '=='"),
            ("(_ a: borrowing SecretBytes) { print(a) }", "'Copyable'"),
            ("(_ a: borrowing SymmetricKey) { debugPrint(a) }", "'Copyable'"),
            ("(_ a: borrowing SymmetricKey) -> String { \"\\(a)\" }", "appendInterpolation"),
            ("(_ a: borrowing SecretBytes) -> [SecretBytes] { [a] }", "'Copyable'"),
            ("(_ a: Token) -> Int { a.hashValue }", "no member 'hashValue'"),
            ("(_ a: Token) -> Set<Token> { [a] }", "'Hashable'"),
            ("(_ a: Passcode) -> any Encodable { a }", "'Encodable'"),
            ("(_ a: Token) -> any Comparable { a }", "'Comparable'"),
            ("(_ a: borrowing SymmetricKey) -> UInt8 { a[0] }", "no subscripts"),
            ("(_ a: borrowing SymmetricKey) -> Int { a.withSpan { $0.count } }", "inaccessible"),
        ])
    func refused(_ function: String, _ reason: String) throws {
        let run = try check("func refused" + function)
        #expect(run.code == 1)
        #expect(run.errorText.contains("error: ") && run.errorText.contains(reason), "\(run.errorText)")
    }
}
