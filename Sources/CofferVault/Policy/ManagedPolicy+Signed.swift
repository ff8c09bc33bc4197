package import CofferBase

extension ManagedPolicy {
    /// Adds the signed policy of a vault, the next source after the administrator's files.
    ///
    /// - Throws: `policyInvalid` with all findings if the document has mistakes.
    package mutating func add(_ signed: SignedPolicyFields) throws(CofferError) {
        add(try signed.validDocument(), from: signed.name, isLater: false)
    }
}

extension SignedPolicyFields {
    /// Returns the document.
    ///
    /// - Throws: `policyInvalid` with all findings if the document has mistakes.
    package func validDocument() throws(CofferError) -> PolicyDocument {
        let document = PolicyDocument(reading: self.document, as: format)
        guard !document.isValid else { return document }
        let faults = document.findings.filter { $0.kind == .error }.map { "\(name): \($0)" }
        throw CofferError(
            .policyInvalid, "The document of the signed policy has mistakes. \(faults.first ?? "")",
            remedy: .correctPolicy, entries: faults)
    }
}
