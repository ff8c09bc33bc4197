import CofferBase
import CofferEngine
import CofferVault

/// Changes of a vault's anchors, which need the passcode.
extension VaultCore {
    /// Changes which anchors there are, and sets all of them to the vault's number.
    ///
    /// - Parameters:
    ///   - passcode: The passcode.
    ///   - acceptingOlder: Whether the vault may be an older copy, and anchors may be lost.
    ///   - change: The change.
    /// - Throws: The errors of ``evaluating(_:askingAnchors:_:)``, and those of the change.
    func changeAnchors(
        _ passcode: Passcode?, acceptingOlder: Bool,
        _ change: (inout AnchorRecord) throws(CofferError) -> Void
    ) throws(CofferError) {
        var failure: CofferError?
        _ = try evaluating(passcode, askingAnchors: !acceptingOlder) { (keys, _, vault) throws(CofferError) in
            // What fails from here on does not mean that the passcode was not right.
            do throws(CofferError) {
                if acceptingOlder, try discardUnusable(in: vault) { return keys }
                try changeAnchors(in: vault, change)
            } catch {
                failure = error
            }
            return keys
        }
        if let failure { throw failure }
    }

    private func changeAnchors(
        in vault: borrowing Descriptor, _ change: (inout AnchorRecord) throws(CofferError) -> Void
    ) throws(CofferError) {
        let stored = try readAnchors(in: vault, repairing: true)
        let old = stored?.payload ?? AnchorRecord()
        var next = old
        try change(&next)
        let isNewFile = next.path != nil && next.path != old.path
        if isNewFile, let path = next.path {
            let file = AnchorFile(path: path, device: device)
            if let number = try? file.number(), number > old.number {
                throw CofferError.olderVault("The file \(file.path)", number, old.number)
            }
        }
        let known = anchorNumbers(old).compactMap { try? $0.number.get() }
        let keyring = (try? AnchorKey(device: device).number()) ?? 0
        next.number = (known + [old.number, keyring]).max(by: <).map { $0 + 1 } ?? 1
        next.generations = generations(in: vault, since: VaultGenerations())
        (next.raised, next.boot) = (clock.bootTime(), clock.bootIdentifier())
        // The anchors that stay get the new number last: an anchor is never ahead of the record. A new one
        // has to be there before the record names it.
        if next.usesKernelKeyring, !old.usesKernelKeyring || stored == nil { try setKey(to: old.number) }
        let isReadable = anchorNumbers(old).contains { $0.kind == .file && (try? $0.number.get()) != nil }
        if next.path != nil, isNewFile || !isReadable {
            try setFile(next, to: old.number, isNew: isNewFile)
        }
        if next.usesKernelKeyring { next.keyringBoot = next.boot }
        try write(next, over: stored, in: vault)
        if next.usesKernelKeyring { try setKey(to: next.number) }
        if next.path != nil { try setFile(next, to: next.number, isNew: false) }
        if let former = old.path, former != next.path {
            try? AnchorFile(path: former, device: device).remove()
        }
        if !next.usesKernelKeyring { try? AnchorKey.remove(device.vaultID) }
    }

    private func setKey(to number: UInt64) throws(CofferError) {
        do throws(CofferError) {
            try AnchorKey(device: device).set(to: number)
        } catch {
            throw CofferError.anchorLost("The kernel keyring", error)
        }
    }

    private func setFile(
        _ record: AnchorRecord, to number: UInt64, isNew: Bool
    ) throws(CofferError) {
        let file = AnchorFile(path: record.path ?? [], device: device)
        do throws(CofferError) {
            try file.set(to: number, outside: home)
        } catch {
            guard ![.refused, .alreadyExists, .invalidInput].contains(error.code) else { throw error }
            let lost = CofferError.anchorLost("The file \(file.path)", error)
            guard isNew else { throw lost }
            // The vault does not have this anchor yet, so there is nothing to be reset.
            throw CofferError(.anchorLost, lost.message, systemError: lost.systemError)
        }
    }

    private func write(
        _ record: AnchorRecord, over stored: AuthenticatedRecord<AnchorRecord>.Contents?,
        in vault: borrowing Descriptor
    ) throws(CofferError) {
        guard let stored else {
            try vault.removeTemporaries()
            return try AnchorRecord.record.createAtomically(record, device: device, in: vault)
        }
        try AnchorRecord.record.update(stored, to: record, device: device, in: vault)
    }

    /// Removes an anchor. Returns whether there was one of this kind.
    func removeAnchor(_ kind: AnchorStatus.Kind, _ passcode: Passcode?) throws(CofferError) -> Bool {
        guard kind != .secretService else {
            throw CofferError(
                .invalidInput,
                "The attempt counter in the Secret Service is there as long as the device key is.")
        }
        var wasThere = false
        var failure: CofferError?
        _ = try evaluating(passcode, askingAnchors: false) { (keys, _, vault) throws(CofferError) in
            do throws(CofferError) {
                wasThere = try removeAnchor(kind, in: vault)
            } catch {
                failure = error
            }
            return keys
        }
        if let failure { throw failure }
        return wasThere
    }

    private func removeAnchor(
        _ kind: AnchorStatus.Kind, in vault: borrowing Descriptor
    ) throws(CofferError) -> Bool {
        if try discardUnusable(in: vault) { return true }
        guard let stored = try readAnchors(in: vault, repairing: true) else { return false }
        var next = stored.payload
        let wasThere: Bool
        switch kind {
        case .file: (wasThere, next.path) = (next.path != nil, nil)
        case .kernelKeyring: (wasThere, next.usesKernelKeyring) = (next.usesKernelKeyring, false)
        case .receipt, .secretService: (wasThere, next.hasReceipt) = (next.hasReceipt, false)
        }
        guard wasThere else { return false }
        // The record stays, so that the numbers go on when there is an anchor again.
        try AnchorRecord.record.update(stored, to: next, device: device, in: vault)
        if kind == .kernelKeyring { try? AnchorKey.remove(device.vaultID) }
        if kind == .file, let path = stored.payload.path {
            try? AnchorFile(path: path, device: device).remove()
        }
        return true
    }

    /// Removes a damaged record of the anchors, which names none, and a number in the kernel keyring that an
    /// older copy of the vault does not know. Returns whether there was any of them.
    private func discardUnusable(in vault: borrowing Descriptor) throws(CofferError) -> Bool {
        do throws(CofferError) {
            guard try readAnchors(in: vault) == nil, (try? AnchorKey(device: device).number()) != nil else {
                return false
            }
        } catch {
            guard [.corrupt, .foreign, .refused].contains(error.code) else { throw error }
            try vault.removeTree(AnchorRecord.record.name, overwriting: true)
            try vault.sync()
            try? AnchorKey.remove(device.vaultID)
            return true
        }
        try AnchorKey.remove(device.vaultID)
        return true
    }

    func anchorReceipt() throws(CofferError) -> AnchorReceipt {
        try home.withExclusiveVault { (vault) throws(CofferError) in
            try checkAnchors(in: vault)
            let stored = try readAnchors(in: vault, repairing: true)
            var next = stored?.payload ?? AnchorRecord()
            if !next.hasReceipt {
                next.hasReceipt = true
                next.number += 1
                next.generations = generations(in: vault, since: next.generations)
                (next.raised, next.boot) = (clock.bootTime(), clock.bootIdentifier())
                try write(next, over: stored, in: vault)
            }
            try raiseAnchors(in: vault, isStrict: true)
            guard let number = try readAnchors(in: vault)?.payload.number else { throw CofferError.noAnchor }
            return try AnchorReceipt(number: number, device: device)
        }
    }

    /// Returns the anchors, the strongest one first.
    func anchorStatuses() throws(CofferError) -> [AnchorStatus] {
        let vault = try home.openVault()
        let record = try home.mappingMissingFiles { () throws(CofferError) in
            try readAnchors(in: vault)?.payload ?? AnchorRecord()
        }
        let path = record.path.map { String(decoding: $0, as: UTF8.self) }
        let found = anchorNumbers(record)
        // Another process may have raised the number meanwhile.
        let own = try readAnchors(in: vault)?.payload.number ?? 0
        var statuses = found.map { found in
            let problem: CofferError?
            switch found.number {
            case .failure(let error): problem = error
            case .success(let number):
                problem = number > own ? .olderVault(found.place, number, own) : nil
            }
            return AnchorStatus(found.kind, path: found.kind == .file ? path : nil, problem: problem)
        }
        if try DeviceKeyFile.read(in: vault).backend == .secretService {
            statuses.append(AnchorStatus(.secretService))
        }
        if record.hasReceipt { statuses.append(AnchorStatus(.receipt)) }
        return AnchorStatus.Kind.allCases.flatMap { kind in statuses.filter { $0.kind == kind } }
    }
}

extension CofferError {
    static var noAnchor: CofferError {
        CofferError(.absent, "This vault has no anchor.", remedy: .setAnchor)
    }
}
