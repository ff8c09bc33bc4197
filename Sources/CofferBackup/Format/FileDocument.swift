import Coffer
import CofferBase
import CofferEngine
import FoundationEssentials
import SystemPackage

/// The description of a file or of a database as a JSON object on one line.
enum FileDocument {
    /// Returns the description of a file. A name that is not UTF-8 is in Base64.
    static func encode(_ file: SnapshotFile) throws(CofferError) -> [UInt8] {
        let name = FileNameBytes.of(file.info.name)
        var fields: [String: JSONValue] = [
            "class": .string(file.info.protection.name), "modified": .integer(file.modified),
            "size": .integer(file.reader.length),
        ]
        if let text = String(validating: name, as: UTF8.self) {
            fields["name"] = .string(text)
        } else {
            fields["nameBase64"] = .string(
                String(decoding: try Encoding.base64Text(name), as: UTF8.self))
        }
        return Array(try JSONValue.object(fields).jsonText().utf8) + [UInt8(ascii: "\n")]
    }

    /// Returns the file that a description describes; `nil` if the bytes are no description.
    static func decode(_ bytes: [UInt8], id: FileID) -> RestoredFile? {
        guard let fields = try? JSONValue(parsing: bytes).object, fields.count == 4,
            let name = name(fields), RestoredFile.isName(name), let modified = fields["modified"]?.integer,
            let className = fields["class"]?.string,
            let protection = ProtectionClass.named(className), protection.isExportable,
            fields["size"]?.integer != nil
        else { return nil }
        return RestoredFile(id: id, name: name, modified: modified, protection: protection)
    }

    private static func name(_ fields: [String: JSONValue]) -> FilePath.Component? {
        if let text = fields["name"]?.string { return FileNameBytes.component(Array(text.utf8)) }
        guard let text = fields["nameBase64"]?.string,
            let name = try? Encoding.decodeBase64Text(Array(text.utf8))
        else { return nil }
        return FileNameBytes.component(name)
    }

    /// Returns the description of a database.
    static func encode(databaseClass protection: ProtectionClass) throws(CofferError) -> [UInt8] {
        let fields: [String: JSONValue] = ["class": .string(protection.name)]
        return Array(try JSONValue.object(fields).jsonText().utf8) + [UInt8(ascii: "\n")]
    }

    /// Returns the class in the description of a database; `nil` if the bytes are no description.
    static func databaseClass(_ bytes: [UInt8]) -> ProtectionClass? {
        guard let fields = try? JSONValue(parsing: bytes).object, fields.count == 1,
            let protection = fields["class"]?.string.flatMap({ ProtectionClass.named($0) }),
            protection.isExportable
        else { return nil }
        return protection
    }
}
