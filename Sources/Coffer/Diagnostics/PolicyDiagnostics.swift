import CofferBase
import CofferVault

extension VaultCore {
    /// Reports what the administrator's policy manages; empty without a policy.
    func policyChecks() -> [SecurityCheck] {
        let name = "policy"
        if let fault = managed.fault {
            return [SecurityCheck(name, .missing, fault.message, remedy: fault.remedy)]
        }
        guard let policy = try? managed.policy() else { return [] }
        var checks: [SecurityCheck] = []
        if (try? isPolicyChanged()) == true {
            checks.append(
                SecurityCheck(
                    name, .advisory,
                    "The administrator's policy is another one than at the last unlock, or is gone "
                        + "(policyChanged)."))
        }
        for key in policy.keys {
            let origins = policy.origins(of: key).map(\.description).joined(separator: ", ")
            checks.append(
                SecurityCheck(
                    name, key.grade == .enforced ? .ok : .advisory,
                    "\(key.rawValue) is managed by \(origins) (\(key.grade.rawValue))."))
        }
        return checks + policy.notices.map { SecurityCheck(name, .advisory, $0) }
    }
}
