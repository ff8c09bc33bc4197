import Coffer
import CofferBase
import CofferEngine
import FoundationEssentials

/// The first entry of a backup: what it contains, and what it leaves out.
struct Manifest: Equatable {
    private static let format: Int64 = 1

    let vaultID: String
    /// The moment in nanoseconds since 1970.
    let time: Int64
    let counts: BackupCounts
    let reserved: Int

    private static let countNames: [(String, any WritableKeyPath<BackupCounts, Int> & Sendable)] = [
        ("tokens", \.tokens), ("files", \.files), ("databases", \.databases),
        ("deviceTokens", \.deviceTokens), ("deviceFiles", \.deviceFiles),
        ("deviceDatabases", \.deviceDatabases),
    ]

    func encoded() throws(CofferError) -> [UInt8] {
        var numbers: [String: JSONValue] = [:]
        for (name, path) in Self.countNames { numbers[name] = .integer(Int64(counts[keyPath: path])) }
        let fields: [String: JSONValue] = [
            "format": .integer(Self.format), "vault": .string(vaultID), "time": .integer(time),
            "release": .string(PackageVersion.current), "counts": .object(numbers),
            "reserved": .integer(Int64(reserved)),
        ]
        return Array(try JSONValue.object(fields).jsonText().utf8) + [UInt8(ascii: "\n")]
    }

    /// Parses a manifest.
    ///
    /// - Throws: `unsupportedVersion` if a newer release wrote it; `corrupt` if it is no manifest.
    init(_ bytes: [UInt8]) throws(CofferError) {
        guard let fields = try? JSONValue(parsing: bytes).object, let format = fields["format"]?.integer
        else {
            throw TarHeader.damaged
        }
        guard format == Self.format else {
            throw CofferError(
                .unsupportedVersion, "The backup was written by a newer release.", remedy: .useNewerRelease)
        }
        guard let vaultID = fields["vault"]?.string, UUID(uuidString: vaultID) != nil,
            let time = fields["time"]?.integer, let numbers = fields["counts"]?.object,
            let reserved = fields["reserved"]?.integer
        else { throw TarHeader.damaged }
        var counts = BackupCounts()
        for (name, path) in Self.countNames {
            guard let number = numbers[name]?.integer,
                (0...Int64(EntryName.countLimit)).contains(number)
            else { throw TarHeader.damaged }
            counts[keyPath: path] = Int(number)
        }
        self.init(vaultID: vaultID, time: time, counts: counts, reserved: Int(clamping: reserved))
    }

    init(vaultID: String, time: Int64, counts: BackupCounts, reserved: Int) {
        self.vaultID = vaultID
        self.time = time
        self.counts = counts
        self.reserved = reserved
    }
}

/// The entry that lists the items which could not be written as the manifest counts them.
enum OmittedDocument {
    static func encode(_ items: [OmittedItem]) throws(CofferError) -> [UInt8] {
        let list = items.map { item in
            JSONValue.object(["path": .string(item.path), "reason": .string(item.reason.rawValue)])
        }
        return Array(try JSONValue.array(list).jsonText().utf8) + [UInt8(ascii: "\n")]
    }

    static func decode(_ bytes: [UInt8]) throws(CofferError) -> [OmittedItem] {
        guard let list = try? JSONValue(parsing: bytes).array else { throw TarHeader.damaged }
        var items: [OmittedItem] = []
        for value in list {
            guard let path = value["path"]?.string, let text = value["reason"]?.string,
                let reason = OmittedItem.Reason.allCases.first(where: {
                    $0.rawValue.hasSameBytes(as: text)
                })
            else { throw TarHeader.damaged }
            items.append(OmittedItem(path: path, reason: reason))
        }
        return items
    }
}
