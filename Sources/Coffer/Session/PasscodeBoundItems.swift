import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage

/// How many items exist only as long as a passcode is set:
/// ``ProtectionClass/whenPasscodeSetThisDeviceOnly``.
public struct PasscodeBoundItems: Sendable, Equatable {
    /// Tokens.
    public let tokens: Int
    /// Files.
    public let files: Int
    /// Databases.
    public let databases: Int
}

extension Session {
    /// What removing the passcode would destroy; known also while locked.
    ///
    /// - Throws: `wiped`, `corrupt`, `busy`.
    public func passcodeBoundItems() async throws(CofferError) -> PasscodeBoundItems {
        let core = core
        return try await BlockingWork.run { _ throws(CofferError) in
            try core.home.changingVault { (vault) throws(CofferError) in
                let names = try core.passcodeBoundTokens()
                let databases = try core.databases(of: names, in: vault).count
                return PasscodeBoundItems(
                    tokens: try names.count - databases + core.passcodeBoundWaiting().count,
                    files: try core.passcodeBoundFiles(in: vault).count, databases: databases)
            }
        }
    }
}

extension SessionCore {
    /// The names of tokens of the class that needs a passcode.
    fileprivate func passcodeBoundTokens() throws(CofferError) -> [[UInt8]] {
        var names: [[UInt8]] = []
        for (name, envelope) in try keyring.envelopes() {
            guard let envelope = try? TokenEnvelope.decode(envelope) else { continue }
            if envelope.protection.needsPasscode { names.append(name) }
        }
        return names
    }

    /// The files of the databases whose keys have these names.
    fileprivate func databases(
        of names: [[UInt8]], in vault: borrowing Descriptor
    ) throws(CofferError) -> [String] {
        let files = try StoreKeys.files(in: vault, device: device)
        return names.compactMap { files[$0] }
    }

    /// What waits for an unlock of that class.
    fileprivate func passcodeBoundWaiting() throws(CofferError) -> [TokenInbox.Entry] {
        try inbox.entries().filter {
            ProtectionClass(rawValue: $0.rawClass)?.needsPasscode == true && $0.state != .damaged
        }
    }

    /// The files of that class. One that is damaged says no class and stays.
    fileprivate func passcodeBoundFiles(in vault: borrowing Descriptor) throws(CofferError) -> [FileID] {
        let directory = try vault.open(Home.filesName, [.read, .directory])
        let keys = try FileKeysRecord(device: device).read(in: vault).keys
        var files: [FileID] = []
        for name in try directory.names() {
            guard let id = FileID(fileName: name), let file = try? directory.open(name, .read),
                let protection = try? ContainerReader.protection(of: file, device: device, keys: keys)
            else { continue }
            if protection.needsPasscode { files.append(id) }
        }
        return files
    }

    /// Files of that class whose containers are missing: nobody will ever read their entries again.
    private func strikeMissing(
        _ index: FileIndex, _ directory: borrowing Descriptor, in vault: borrowing Descriptor
    ) throws(CofferError) {
        guard try FileKeysRecord(device: device).read(in: vault).keys.hasIndex else { return }
        let present = Set(try directory.names().compactMap { FileID(fileName: $0) })
        try index.strike(in: vault) { id, entry in
            ProtectionClass(rawValue: entry.protection)?.needsPasscode == true && !present.contains(id)
        }
    }

    /// Removes the items of the class whose key was destroyed with the passcode, under the home's lock.
    func removeOrphans(in vault: borrowing Descriptor) throws(CofferError) -> PasscodeBoundItems {
        let names = try passcodeBoundTokens()
        // Before their keys, by which they are found.
        let databases = try databases(of: names, in: vault)
        if !databases.isEmpty {
            let directory = try vault.open(StoreKeys.directory, [.read, .directory])
            for file in databases { _ = try StoreKeys.remove(file, from: directory) }
            try directory.sync()
        }
        if !names.isEmpty {
            try keyring.apply(Dictionary(names.map { ($0, .remove) }) { first, _ in first })
        }
        let waiting = try passcodeBoundWaiting()
        try inbox.remove(waiting, in: vault)
        let files = try passcodeBoundFiles(in: vault)
        let directory = try vault.open(Home.filesName, [.read, .directory])
        let index = FileIndex(device: device)
        for id in files { try FileStore.destroy(id, of: device, index, directory, in: vault) }
        try strikeMissing(index, directory, in: vault)
        try updateKeybag(in: vault) { (keybag) throws(CofferError) in keybag.hasOrphans = false }
        return PasscodeBoundItems(
            tokens: names.count - databases.count + waiting.count, files: files.count,
            databases: databases.count)
    }
}
