@testable import CofferBackup
import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage
import TestSupport

/// Backups: the tar archive in one, and the documents of its entries. Anyone who knows a recipient can make
/// them.
extension FuzzTarget {
    static let backups = [
        FuzzTarget("backup-archive") { bytes, world in try readArchive(bytes, world) },
        FuzzTarget("backup-document") { bytes, _ in try readDocument(bytes) },
    ]

    /// The names of an archive that is read to its end ascend, and its bytes are all accounted for.
    private static func readArchive(_ bytes: [UInt8], _ world: FuzzWorld) throws {
        let file = try world.scratch.descriptor.open("archive", [.readWrite, .create])
        try file.truncate(to: 0)
        var age = try AgeWriter.start(to: [world.backupIdentity.recipient]) { (piece) throws(CofferError) in
            try file.append(piece)
        }
        try age.write(bytes.span) { (piece) throws(CofferError) in try file.append(piece) }
        try age.finish { (piece) throws(CofferError) in try file.append(piece) }
        let reader = try ArchiveReader.open(file, with: .identities([world.backupIdentity]))
        var (names, total): ([EntryName], Int64) = ([], 0)
        while let entry = try reader.next() {
            try FuzzFinding.require(
                names.last.map { $0.precedes(entry.name) } ?? (entry.name == .manifest), "names out of order")
            try FuzzFinding.require(EntryName(path: entry.name.path) == entry.name, "a name has two paths")
            // Some entries are read, and the others passed over.
            if names.count % 2 == 0 {
                let content = try reader.document()
                try FuzzFinding.require(content.count == entry.size, "an entry has another size")
            }
            names.append(entry.name)
            total += Int64(TarHeader.blockSize) + entry.size + Int64(TarHeader.padding(after: entry.size))
        }
        // The list and the end are behind the entries.
        try FuzzFinding.require(total + 4 * 512 <= bytes.count, "more was read than there is")
    }

    /// The first byte chooses the document; what is read comes back as it was read.
    private static func readDocument(_ bytes: [UInt8]) throws {
        guard let kind = bytes.first else { return }
        let text = Array(bytes.dropFirst())
        switch kind % 5 {
        case 0:
            let manifest = try Manifest(text)
            try FuzzFinding.require(try Manifest(manifest.encoded()) == manifest, "another manifest")
        case 1:
            guard let token = try TokenDocument.decode(text.span) else { return }
            let document = try TokenDocument.encode(token)
            let again = try TokenDocument.decode(document.span)
            try FuzzFinding.require(again?.info == token.info, "another token")
        case 2:
            guard let file = FileDocument.decode(text, id: try FileID("aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa"))
            else { return }
            try FuzzFinding.require(RestoredFile.isName(file.name), "a name that no file can have")
            try FuzzFinding.require(file.protection.isExportable, "a class that does not move")
        case 3:
            guard let protection = FileDocument.databaseClass(text) else { return }
            try FuzzFinding.require(protection.isExportable, "a class that does not move")
        default:
            let items = try OmittedDocument.decode(text)
            try FuzzFinding.require(
                try OmittedDocument.decode(OmittedDocument.encode(items)) == items, "other items")
        }
    }
}
