import CofferBase
import CofferEngine

/// Everything that the command prints: results to standard output, messages to standard error.
///
/// Results go to the descriptor itself, not through a buffer: a full disk or a closed pipe is an error.
enum Output {
    /// One line of a result.
    static func line(_ text: String) throws(CofferError) { try bytes(Array((text + "\n").utf8).span) }

    /// The one JSON document of a command.
    static func json(_ document: JSONDocument) throws(CofferError) { try line(document.encoded) }

    /// One line for a person, on standard error. Nothing can be done when that fails.
    static func message(_ text: String) { part(text + "\n") }

    /// A part of a line for a person, on standard error.
    static func part(_ text: String) {
        let bytes = Array(text.utf8)
        try? Descriptor.standardError().append(bytes.span)
    }

    /// Bytes as they are.
    static func bytes(_ bytes: Span<UInt8>) throws(CofferError) {
        try Descriptor.standardOutput().append(bytes)
    }

    /// A secret that was asked for, in characters that JSON need not escape: alone on a line, or as JSON.
    static func secret(_ name: String, _ value: Span<UInt8>, asJSON: Bool) throws(CofferError) {
        if asJSON { try text("{") }
        try member(name, value, named: asJSON, asJSON: asJSON)
        try text(asJSON ? "}\n" : "\n")
    }

    /// Bytes as they are, or Base64 in a JSON document.
    static func content(_ name: String, _ value: Span<UInt8>, asJSON: Bool) throws(CofferError) {
        guard asJSON else { return try bytes(value) }
        let text = try Encoding.base64(value)
        try secret(name, text.span, asJSON: true)
    }

    /// Two such secrets, each on a line with its name, or as one JSON document.
    static func secrets(
        _ firstName: String, _ first: Span<UInt8>, _ secondName: String, _ second: Span<UInt8>, asJSON: Bool
    ) throws(CofferError) {
        if asJSON { try text("{") }
        try member(firstName, first, named: true, asJSON: asJSON)
        try text(asJSON ? "," : "\n")
        try member(secondName, second, named: true, asJSON: asJSON)
        try text(asJSON ? "}\n" : "\n")
    }

    /// Written piece by piece, so that the secret passes through no string.
    private static func member(
        _ name: String, _ value: Span<UInt8>, named: Bool, asJSON: Bool
    ) throws(CofferError) {
        if named { try text(asJSON ? "\"\(name)\":\"" : "\(name): ") }
        try bytes(value)
        if asJSON { try text("\"") }
    }

    private static func text(_ text: String) throws(CofferError) { try bytes(Array(text.utf8).span) }
}
