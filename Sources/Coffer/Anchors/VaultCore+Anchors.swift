import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import SystemPackage

/// The anchors of a vault: places outside of the vault directory that keep the vault's number, by which an
/// older copy of the directory is noticed.
///
/// The number is raised and stored in ``AnchorRecord`` after the files that it stands for have changed, and
/// written to the anchors after that. An anchor may therefore be behind, after a crash or while its disk was
/// not there, but never ahead.
extension VaultCore {
    /// The time within which changes of tokens raise the number only once.
    private static let tokenInterval = Duration.seconds(1)

    func readAnchors(
        in vault: borrowing Descriptor, repairing: Bool = false
    ) throws(CofferError) -> AuthenticatedRecord<AnchorRecord>.Contents? {
        guard try vault.status(of: AnchorRecord.record.name) != nil else { return nil }
        return try AnchorRecord.record.read(device: device, in: vault, repairing: repairing)
    }

    /// Throws `rolledBack` if the vault directory, or one of its files, is an older copy, and `anchorLost` if
    /// an anchor cannot be read. A vault without anchors passes, unless the kernel keyring has one for it.
    func checkAnchors(in vault: borrowing Descriptor) throws(CofferError) {
        var seen: UInt64?
        while true {
            let record = try readAnchors(in: vault)?.payload ?? AnchorRecord()
            do throws(CofferError) {
                return try check(record, in: vault)
            } catch {
                // Another process may have raised the number since the record was read.
                guard error.code == .rolledBack, record.number != seen else { throw error }
                seen = record.number
            }
        }
    }

    private func check(_ record: AnchorRecord, in vault: borrowing Descriptor) throws(CofferError) {
        if !record.usesKernelKeyring, let number = try? AnchorKey(device: device).number(),
            number > record.number
        {
            throw CofferError.olderVault("The kernel keyring", number, record.number)
        }
        guard record.hasAnchor else { return }
        try checkFiles(record, in: vault)
        var lost: CofferError?
        for found in anchorNumbers(record) {
            switch found.number {
            case .failure(let error): lost = lost ?? error
            case .success(let number):
                guard number <= record.number else {
                    throw CofferError.olderVault(found.place, number, record.number)
                }
            }
        }
        if let lost { throw lost }
    }

    /// Throws `rolledBack`, as ``checkAnchors(in:)`` does, but accepts that an anchor cannot be read.
    func requireNewest(in vault: borrowing Descriptor) throws(CofferError) {
        do throws(CofferError) {
            try checkAnchors(in: vault)
        } catch {
            guard error.code == .anchorLost else { throw error }
        }
    }

    private func checkFiles(
        _ record: AnchorRecord, in vault: borrowing Descriptor
    ) throws(CofferError) {
        let now = generations(in: vault, since: record.generations)
        guard let older = now.older(than: record.generations) else { return }
        throw CofferError(
            .rolledBack,
            "The file \(older) in the vault directory is an older copy: the vault's record of anchors has a "
                + "newer generation of it. Nothing was opened.",
            remedy: .resetAnchors)
    }

    /// An anchor's place and its number, or the reason why that cannot be read.
    struct FoundAnchor {
        let kind: AnchorStatus.Kind
        let place: String
        let number: Result<UInt64, CofferError>
    }

    /// Reads every anchor that can be read by the program.
    func anchorNumbers(_ record: AnchorRecord) -> [FoundAnchor] {
        var found: [FoundAnchor] = []
        if let path = record.path {
            let file = AnchorFile(path: path, device: device)
            let place = "The file \(file.path)"
            found.append(
                FoundAnchor(
                    kind: .file, place: place,
                    number: Self.asLost(place) { () throws(CofferError) in
                        try file.number()
                    }))
        }
        if record.usesKernelKeyring {
            let place = "The kernel keyring"
            found.append(
                FoundAnchor(
                    kind: .kernelKeyring, place: place,
                    number: Self.asLost(place) { () throws(CofferError) in
                        if let number = try AnchorKey(device: device).number() { return number }
                        // A reboot empties the kernel keyring.
                        let boot = clock.bootIdentifier()
                        guard clock.knowsBoot, !record.keyringBoot.hasSameBytes(as: boot) else {
                            throw CofferError(.absent, "Its key was removed since the last reboot.")
                        }
                        return 0
                    }))
        }
        return found
    }

    private static func asLost(
        _ place: String, _ body: () throws(CofferError) -> UInt64
    ) -> Result<UInt64, CofferError> {
        do throws(CofferError) {
            return .success(try body())
        } catch {
            return .failure(CofferError.anchorLost(place, error))
        }
    }

    // MARK: Raising the number

    /// Raises the vault's number if a file that it stands for has changed, and writes it to the anchors. The
    /// caller has the vault directory's lock.
    ///
    /// - Parameters:
    ///   - vault: The vault's directory.
    ///   - isStrict: Whether every anchor must have the number afterwards. Otherwise, an anchor that cannot
    ///     be written is left behind, and the next check reports it if it cannot be read either.
    /// - Throws: `anchorLost` if an anchor cannot be written and `isStrict` is `true`; otherwise, an error if
    ///   the record of the anchors cannot be read or written.
    func raiseAnchors(in vault: borrowing Descriptor, isStrict: Bool = false) throws(CofferError) {
        guard var stored = try readAnchors(in: vault, repairing: true), stored.payload.hasAnchor else {
            return
        }
        let old = stored.payload
        let now = generations(in: vault, since: old.generations)
        // An older copy must not become the newest one.
        guard now.older(than: old.generations) == nil else { return }
        let boot = clock.bootIdentifier()
        let isNewBoot = old.usesKernelKeyring && !old.keyringBoot.hasSameBytes(as: boot)
        guard now != old.generations || isNewBoot || isStrict else { return }
        guard isStrict || isNewBoot || !isTooSoon(now, old, boot) else { return }
        let anchors = anchorNumbers(old)
        let isOlderCopy = anchors.contains { ((try? $0.number.get()) ?? 0) > old.number }
        guard !isOlderCopy else { return }
        // The key must be there before the record says that it is.
        if isNewBoot { try? AnchorKey(device: device).set(to: old.number) }
        if now != old.generations || isNewBoot {
            var next = old
            next.number += 1
            next.generations = now
            (next.raised, next.boot) = (clock.bootTime(), boot)
            if isNewBoot, (try? AnchorKey(device: device).number()) != nil { next.keyringBoot = boot }
            stored = try AnchorRecord.record.update(stored, to: next, device: device, in: vault)
        }
        try write(stored.payload, to: anchors, isStrict)
    }

    /// Raises the number at the end of work under the vault directory's lock.
    func raiseAnchorsAfterWork() {
        guard let record = try? home.directory.status(of: Self.anchorsPath), record.kind == .regular,
            let vault = try? home.openVault()
        else { return }
        try? raiseAnchors(in: vault)
    }

    private static let anchorsPath = VaultDirectory.vaultName.pushing(AnchorRecord.record.name)

    /// Whether only tokens have changed, and the number was raised less than a second ago.
    private func isTooSoon(_ now: VaultGenerations, _ old: AnchorRecord, _ boot: String) -> Bool {
        let since = clock.bootTime() - old.raised
        return now.differsOnlyInTokens(from: old.generations) && old.boot.hasSameBytes(as: boot)
            && since >= .zero && since < Self.tokenInterval
    }

    private func write(
        _ record: AnchorRecord, to anchors: [FoundAnchor], _ isStrict: Bool
    ) throws(CofferError) {
        for found in anchors {
            do throws(CofferError) {
                // An anchor that could not be read is not written, either: it may be another one.
                guard try found.number.get() < record.number else { continue }
                switch found.kind {
                case .kernelKeyring: try AnchorKey(device: device).set(to: record.number)
                case .file:
                    _ = try AnchorFile(path: record.path ?? [], device: device).raise(to: record.number)
                case .secretService, .receipt: break
                }
            } catch {
                guard isStrict else { continue }
                throw error.code == .anchorLost ? error : CofferError.anchorLost(found.place, error)
            }
        }
    }

    // MARK: The vault's files

    /// Reads the generations of the vault's files. A file that cannot be read keeps that of `former`, because
    /// it has its own error where it is used. Reads all tokens only if the token file has changed since
    /// `former`.
    func generations(in vault: borrowing Descriptor, since former: VaultGenerations) -> VaultGenerations {
        var now = former
        if let found = try? Keybag.record.generation(device: device, in: vault) { now.keybag = found }
        if let found = try? AttemptRecord.record.generation(device: device, in: vault) {
            now.attempts = found
        }
        if let found = try? RemoteCommandRecord.record.generation(device: device, in: vault) {
            now.orders = found
        }
        if let found = try? PolicyRecord.counter(device: device, in: vault) { now.policy = found }
        if let found = try? FileKeyset.record.generation(device: device, in: vault) { now.fileKeys = found }
        if let found = try? indexMark(in: vault) { now.indexMark = found }
        // With the Secret Service, there is no token file.
        if let mark = try? bytes(of: TokenFile.fileName, at: TokenFile.markOffset, 24, in: vault),
            mark != former.tokensMark,
            let found = try? TokenFile(device: device).read(in: vault).contents.generation
        {
            (now.tokens, now.tokensMark) = (found, mark)
        }
        return now
    }

    private func indexMark(in vault: borrowing Descriptor) throws(CofferError) -> [UInt8] {
        guard try vault.status(of: FileIndex.fileName) != nil else { return VaultGenerations().indexMark }
        var commits: [UInt8] = []
        for offset in FileIndexCommit.offsets {
            commits += try bytes(of: FileIndex.fileName, at: offset, FileIndexCommit.size, in: vault)
        }
        return try HMAC.authenticate(commits.span, key: device.key(KDFLabel.anchorsMAC))
    }

    private func bytes(
        of name: FilePath, at offset: Int, _ count: Int, in vault: borrowing Descriptor
    ) throws(CofferError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var span = bytes.mutableSpan
        _ = try vault.open(name, .read).read(at: Int64(offset), into: &span)
        return bytes
    }
}

extension CofferError {
    /// The error for an older copy of the vault, of which `place` knows.
    static func olderVault(_ place: String, _ number: UInt64, _ own: UInt64) -> CofferError {
        CofferError(
            .rolledBack,
            "\(place) knows of change \(number), and the vault only of change \(own): the vault directory is "
                + "an older copy. Nothing was opened.",
            remedy: .resetAnchors)
    }

    /// The error for an anchor that cannot be read or written.
    static func anchorLost(_ place: String, _ error: CofferError) -> CofferError {
        CofferError(
            .anchorLost,
            "\(place), which would show an older copy of the vault, cannot be used. \(error.message)",
            remedy: .resetAnchors, systemError: error.systemError)
    }
}
