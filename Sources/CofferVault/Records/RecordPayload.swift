package import CofferBase

/// The payload of an ``AuthenticatedRecord``: a value that is written and read field by field.
package protocol RecordPayload {
    /// Reads the fields, which are authentic but may be from another release.
    init(from reader: inout BinaryReader) throws(CofferError)

    /// Writes the fields.
    func encode(to writer: inout BinaryWriter)
}

extension RecordPayload {
    /// The fields as bytes.
    package var encoded: [UInt8] {
        var writer = BinaryWriter()
        encode(to: &writer)
        return writer.bytes
    }
}
