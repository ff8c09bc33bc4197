package import CofferBase

/// The payload of an ``AuthenticatedRecord``: a value that is written and read field by field.
package protocol RecordPayload {
    /// Creates a payload from its encoded fields, which are authentic but may have been written by another
    /// release.
    init(from reader: inout BinaryReader) throws(CofferError)

    /// Writes the fields.
    func encode(to writer: inout BinaryWriter)
}

extension RecordPayload {
    /// The encoded fields.
    package var encoded: [UInt8] {
        var writer = BinaryWriter()
        encode(to: &writer)
        return writer.bytes
    }
}
