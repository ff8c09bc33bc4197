public import CCoffer
import Coffer
import CofferBase
import CofferVault
import FoundationEssentials

/// `coffer_status`.
@_cdecl("coffer_status")
public func status(
    _ home: UnsafePointer<CChar>?, _ user: UnsafePointer<CChar>?,
    _ json: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<coffer_error>?
) -> Int32 {
    unsafe Call.perform(error) { () throws(CofferError) in
        let place = unsafe try Output.empty(json, "json")
        let location = unsafe try Input.location(home, user)
        let status = try Call.wait { () async throws(CofferError) in try await Vault.status(at: location) }
        unsafe try Output.set(place, to: status.json)
    }
}

/// `coffer_lock_at`.
@_cdecl("coffer_lock_at")
public func lock(
    at home: UnsafePointer<CChar>?, _ user: UnsafePointer<CChar>?,
    _ error: UnsafeMutablePointer<coffer_error>?
) -> Int32 {
    unsafe Call.perform(error) { () throws(CofferError) in
        let location = unsafe try Input.location(home, user)
        let report = try Call.wait { () async throws(CofferError) in try await Vault.lock(at: location) }
        if let failure = report.failures.first { throw failure }
    }
}

/// `coffer_wipe`.
@_cdecl("coffer_wipe")
public func wipe(
    _ home: UnsafePointer<CChar>?, _ user: UnsafePointer<CChar>?,
    _ receipt: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<coffer_error>?
) -> Int32 {
    unsafe Call.perform(error) { () throws(CofferError) in
        if let receipt = unsafe receipt { unsafe receipt.pointee = nil }
        let location = unsafe try Input.location(home, user)
        let done = try Call.wait { () async throws(CofferError) in try await Vault.wipe(at: location) }
        if let receipt = unsafe receipt { unsafe try Output.set(receipt, to: done.jsonValue) }
        guard done.failures.isEmpty else {
            throw CofferError(
                .inputOutput,
                "The keys are destroyed, but \(done.failures.count) items are still there: "
                    + done.failures.joined(separator: "; "))
        }
    }
}

extension VaultStatus {
    fileprivate var json: JSONValue {
        var fields: [String: JSONValue] = [
            "state": .string(state.rawValue), "hasPasscode": .bool(hasPasscode),
            "erasesAfterTenFailures": .bool(erasesAfterTenFailures), "tokens": .integer(Int64(tokens)),
            "files": .integer(Int64(files)), "damagedTokens": .integer(Int64(corruptTokens)),
            "waitingTokens": .integer(Int64(pendingTokens)), "isFileIndexDamaged": .bool(isFileIndexDamaged),
            "isPolicyChanged": .bool(isPolicyChanged),
        ]
        if let vaultID { fields["vaultID"] = .string(vaultID.description) }
        if let keyring { fields["keyring"] = .string(keyring.rawValue) }
        if let attemptsLeft { fields["attemptsLeft"] = .integer(Int64(attemptsLeft)) }
        if let lastBackup { fields["lastBackup"] = .number(lastBackup.timeIntervalSince1970) }
        if let policyFault { fields["policyFault"] = .string(policyFault) }
        return .object(fields)
    }
}

extension WipeReceipt {
    fileprivate var jsonValue: JSONValue {
        .object([
            "vaultID": .string(vaultID.uuidString.foldedASCII), "scope": .string(scope),
            "started": .number(started.timeIntervalSince1970),
            "finished": .number(finished.timeIntervalSince1970),
            "removed": .object(removed.mapValues { .integer(Int64($0)) }),
            "unverified": .array(unverified.map { .string($0) }),
            "failures": .array(failures.map { .string($0) }),
        ])
    }
}
