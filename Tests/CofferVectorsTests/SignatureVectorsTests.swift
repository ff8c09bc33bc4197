import CofferVectors
import Testing
import TestSupport

@Suite("Vectors of signatures")
struct SignatureVectorsTests {
    private func run(_ contents: [UInt8]) -> VectorReport {
        VectorRunner().run(contents, path: "sample.json")
    }

    @Test("A signature of the library passes, an altered one is refused", arguments: SignatureScheme.allCases)
    func altered(_ scheme: SignatureScheme) throws {
        let sample = try SignatureSample(scheme)
        let good = SignatureSample.test(sample.signature, "valid")
        let bad =
            sample.altered.map { SignatureSample.test($0, "invalid") }
            + [SignatureSample.test(sample.signature, "invalid", message: .counting(9))]
        let report = run(sample.file([good] + bad))
        #expect(report.succeeded && report.accepted == 1, "\(report.failures)")
        #expect(report.refused == bad.count && report.skipped.isEmpty)
        #expect(report.controlDetected == true)
    }

    @Test("What must fail fails: the wrong result stated", arguments: SignatureScheme.allCases)
    func wrongResults(_ scheme: SignatureScheme) throws {
        let sample = try SignatureSample(scheme)
        let good = SignatureSample.test(sample.signature, "valid")
        #expect(run(sample.file([good])).succeeded)
        #expect(run(sample.file([SignatureSample.test(sample.signature, "invalid")])).failed == 1)
        for signature in sample.altered {
            let report = run(sample.file([good, SignatureSample.test(signature, "valid")]))
            #expect(report.failures.map(\.id) == [2] && !report.succeeded)
        }
        let other = SignatureSample.test(sample.signature, "valid", message: .counting(9))
        #expect(run(sample.file([good, other])).failures.map(\.id) == [2])
    }

    /// A change of a group that makes it one for a scheme that the library does not offer.
    struct Change: Sendable {
        let scheme: SignatureScheme
        let old: String
        let new: String
        let reason: String

        init(_ scheme: SignatureScheme, _ old: String, _ new: String, _ reason: String) {
            self.scheme = scheme
            self.old = old
            self.new = new
            self.reason = reason
        }
    }

    @Test(
        "What the library does not offer is skipped and does not pass, whatever the file requires",
        arguments: [
            Change(.ecdsa, "secp256r1", "secp384r1", "unsupported-curve"),
            Change(.ecdsaFixed, "secp256r1", "secp256k1", "unsupported-curve"),
            Change(.ecdsa, "SHA-256", "SHA-512", "unsupported-hash"),
            Change(.ecdsaFixed, "SHA-256", "SHA3-256", "unsupported-hash"),
            Change(.ed25519, "edwards25519", "edwards448", "unsupported-curve"),
            Change(.pkcs1, "SHA-256", "SHA-384", "unsupported-hash"),
            Change(.generation, "SHA-256", "SHA-1", "unsupported-hash"),
            Change(.pss, "\"sha\": \"SHA-256\"", "\"sha\": \"SHA-512\"", "unsupported-hash"),
            Change(.pss, "\"sLen\": 32", "\"sLen\": 20", "unsupported-salt-or-mask"),
            Change(.pss, "\"mgfSha\": \"SHA-256\"", "\"mgfSha\": \"SHA-1\"", "unsupported-salt-or-mask"),
            Change(.pssParameters, "MGF1", "MGF2", "unsupported-salt-or-mask"),
        ])
    func notOffered(_ change: Change) throws {
        let sample = try SignatureSample(change.scheme)
        #expect(sample.group.contains(change.old))
        let tests = ["valid", "invalid", "acceptable"].map { SignatureSample.test(sample.signature, $0) }
        let report = run(sample.file(tests, replacing: change.old, by: change.new))
        #expect(report.skipped == [change.reason: 3], "\(report.failures)")
        #expect(report.passed == 0 && report.failed == 0 && !report.succeeded)
        #expect(report.controlDetected == nil)
    }

    @Test("Bitcoin's rule for signatures is not offered")
    func bitcoin() throws {
        let sample = try SignatureSample(.ecdsa)
        let tests = ["valid", "invalid"].map { SignatureSample.test(sample.signature, $0) }
        let report = run(sample.file(tests, type: "EcdsaBitcoinVerify"))
        #expect(report.skipped == ["unsupported-type": 2] && !report.succeeded)
    }

    @Test("An exponent of 3 is refused where the test is invalid, and skipped where it is valid")
    func refusedKeys() throws {
        let sample = try SignatureSample(.pkcs1)
        func report(_ result: String) -> VectorReport {
            run(
                sample.file(
                    [SignatureSample.test(sample.signature, result)], replacing: "\"010001\"", by: "\"03\""))
        }
        #expect(report("valid").skipped == ["unsupported-key:2048:03": 1])
        #expect(report("acceptable").skipped == ["unsupported-key:2048:03": 1])
        #expect(report("invalid").refused == 1)
    }

    @Test("A private key with other numbers than the group's fails")
    func otherKey() throws {
        let sample = try SignatureSample(.generation)
        for result in ["valid", "invalid"] {
            let test = SignatureSample.test(sample.signature, result)
            #expect(run(sample.file([test], replacing: "\"010001\"", by: "\"010003\"")).failed == 1)
        }
    }

    @Test("An acceptable signature is accepted or refused as its flag decides, and fails without one")
    func decisions() throws {
        func passes(_ scheme: SignatureScheme, _ flags: [String], isAltered: Bool = false) throws -> Bool {
            let sample = try SignatureSample(scheme)
            let signature = isAltered ? sample.altered[0] : sample.signature
            let report = run(sample.file([SignatureSample.test(signature, "acceptable", flags: flags)]))
            #expect(report.skipped.isEmpty && report.passed + report.failed == 1)
            return report.succeeded
        }
        for scheme in SignatureScheme.allCases {
            for isAltered in [false, true] {
                #expect(try !passes(scheme, [], isAltered: isAltered))
                #expect(try !passes(scheme, ["Unknown"], isAltered: isAltered))
            }
        }
        #expect(try passes(.pkcs1, ["MissingNull"], isAltered: true))
        #expect(try !passes(.pkcs1, ["MissingNull"]))
        #expect(try passes(.ed25519, ["MixedOrderPublicKey"]))
        #expect(try !passes(.ed25519, ["MixedOrderPublicKey"], isAltered: true))
        for flag in ["SmallOrderPublicKey", "SmallOrderR"] {
            #expect(try passes(.ed25519, [flag], isAltered: true))
            #expect(try !passes(.ed25519, [flag]))
            #expect(try !passes(.ed25519, [flag, "MixedOrderPublicKey"]))
        }
    }

    @Test("A public key that is the neutral element is refused, as decided")
    func smallOrder() throws {
        let neutral = "01" + String(repeating: "00", count: 31)
        let signature = [UInt8](hex: neutral + String(repeating: "00", count: 32))
        let contents = VectorSamples.file(
            "EDDSA", "EddsaVerify",
            [SignatureSample.test(signature, "acceptable", flags: ["SmallOrderPublicKey"])],
            group: "\"publicKey\": {\"curve\": \"edwards25519\", \"pk\": \"\(neutral)\"}, ")
        #expect(run(contents).refused == 1)
    }
}
