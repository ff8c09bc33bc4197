public import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import SystemPackage

extension Vault {
    /// Counts the items that removing the passcode would destroy. You can call this method while the vault is
    /// locked.
    ///
    /// - Returns: The number of tokens, files, databases and key pairs that would be destroyed.
    /// - Throws: `busy` if another process holds the vault's lock for too long; `wiped` or `corrupt`.
    public func passcodeDependentItems() async throws(CofferError) -> PasscodeDependentItems {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in
            try core.home.withExclusiveVault { (vault) throws(CofferError) in
                let names = try core.passcodeDependentTokens()
                let databases = try core.databases(of: names, in: vault).count
                return PasscodeDependentItems(
                    tokens: try names.count - databases + core.passcodeDependentPendingTokens().count,
                    files: try core.passcodeDependentFiles(in: vault).count, databases: databases,
                    keyPairs: try KeyPairFile(device: core.device).read(in: vault).passcodeDependent.count)
            }
        }
    }
}

extension VaultCore {
    /// Returns the names of the tokens in the class that requires a passcode.
    fileprivate func passcodeDependentTokens() throws(CofferError) -> [[UInt8]] {
        var names: [[UInt8]] = []
        for (name, envelope) in try storage.envelopes() {
            guard let envelope = try? TokenEnvelope.decode(envelope) else { continue }
            if envelope.protection.requiresPasscode { names.append(name) }
        }
        return names
    }

    /// Returns the file names of the databases whose keys are stored under these names.
    fileprivate func databases(
        of names: [[UInt8]], in vault: borrowing Descriptor
    ) throws(CofferError) -> [String] {
        let files = try DatabaseKeyNaming.files(in: vault, device: device)
        return names.compactMap { files[$0] }
    }

    /// Returns the pending tokens in the class that requires a passcode.
    fileprivate func passcodeDependentPendingTokens() throws(CofferError) -> [PendingTokenQueue.Entry] {
        try pendingTokens.entries().filter {
            ProtectionClass(rawValue: $0.rawClass)?.requiresPasscode == true && $0.state != .damaged
        }
    }

    /// Returns the files in the class that requires a passcode. A damaged file's class cannot be read, so
    /// such a file stays.
    fileprivate func passcodeDependentFiles(in vault: borrowing Descriptor) throws(CofferError) -> [FileID] {
        let directory = try vault.open(VaultDirectory.filesName, [.read, .directory])
        let keys = try FileKeysetRecord(device: device).read(in: vault).keys
        var files: [FileID] = []
        for name in try directory.names() {
            guard let id = FileID(fileName: name), let file = try? directory.openContainer(name, .read),
                let protection = try? ContainerReader.protection(of: file, device: device, keys: keys)
            else { continue }
            if protection.requiresPasscode { files.append(id) }
        }
        return files
    }

    /// Removes the index entries for files in the class that requires a passcode if their containers are
    /// missing, because those files can never be read again.
    private func removeMissing(
        _ index: FileIndex, _ directory: borrowing Descriptor, in vault: borrowing Descriptor
    ) throws(CofferError) {
        guard try FileKeysetRecord(device: device).read(in: vault).keys.hasIndex else { return }
        let present = Set(
            try directory.entries().compactMap { $0.isRegular ? FileID(fileName: $0.name) : nil })
        try index.remove(in: vault) { id, entry in
            entry.protectionClass?.requiresPasscode == true && !present.contains(id)
        }
    }

    /// Removes the items in the class whose key was destroyed with the passcode. The caller must hold the
    /// vault directory's lock.
    func removeOrphans(in vault: borrowing Descriptor) throws(CofferError) -> PasscodeDependentItems {
        let names = try passcodeDependentTokens()
        // Databases are removed before their keys, because the keys identify them.
        let databases = try databases(of: names, in: vault)
        if !databases.isEmpty {
            let directory = try vault.open(DatabaseKeyNaming.directory, [.read, .directory])
            for file in databases { _ = try DatabaseKeyNaming.remove(file, from: directory) }
            try directory.sync()
        }
        if !names.isEmpty {
            try storage.apply(Dictionary(names.map { ($0, .remove) }) { first, _ in first })
        }
        let waiting = try passcodeDependentPendingTokens()
        try pendingTokens.remove(waiting, in: vault)
        let files = try passcodeDependentFiles(in: vault)
        let directory = try vault.open(VaultDirectory.filesName, [.read, .directory])
        let index = FileIndex(device: device)
        for id in files { try FileStore.destroy(id, of: device, index, directory, in: vault) }
        try removeMissing(index, directory, in: vault)
        let pairs = try removeOrphanedKeyPairs(in: vault)
        if pairs != nil {
            try updateKeybag(in: vault) { (keybag) throws(CofferError) in keybag.hasOrphans = false }
        }
        return PasscodeDependentItems(
            tokens: names.count - databases.count + waiting.count, files: files.count,
            databases: databases.count, keyPairs: pairs ?? 0)
    }

    /// Removes the key pairs in the class that requires a passcode. Returns their number; `nil` if the file
    /// of key pairs cannot be read, which must not prevent an unlock: the next one tries again.
    private func removeOrphanedKeyPairs(in vault: borrowing Descriptor) throws(CofferError) -> Int? {
        let file = KeyPairFile(device: device)
        var contents: KeyPairFile.Contents
        do throws(CofferError) {
            contents = try file.read(in: vault)
        } catch {
            guard KeyPairFile.isUnreadable(error) else { throw error }
            return nil
        }
        let orphans = contents.passcodeDependent
        guard !orphans.isEmpty else { return 0 }
        contents.records.removeAll { $0.pair.protection.requiresPasscode }
        try file.write(contents, in: vault, overwriting: true)
        return orphans.count
    }
}
