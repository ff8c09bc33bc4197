package import CofferBase
import CofferEngine

/// The program's output. Results go to standard output, and messages go to standard error.
///
/// Results are written to the descriptor without a buffer, so a full disk or a closed pipe causes an error.
package enum Output {
    /// Prints one line of a result on standard output.
    package static func line(_ text: String) throws(CofferError) { try bytes(Array((text + "\n").utf8).span) }

    /// Prints a command's only JSON document on standard output.
    package static func json(_ document: JSONDocument) throws(CofferError) { try line(document.encoded()) }

    /// Prints one line for the user on standard error. Ignores write errors.
    package static func message(_ text: String) { part(text + "\n") }

    /// Prints part of a line for the user on standard error. Ignores write errors.
    package static func part(_ text: String) {
        let bytes = Array(text.utf8)
        Descriptor.writeMessage(bytes.span)
    }

    /// Writes bytes to standard output without changing them.
    package static func bytes(_ bytes: Span<UInt8>) throws(CofferError) {
        try Descriptor.standardOutput().append(bytes)
    }

    /// Prints a requested secret that contains no characters that JSON would escape. The secret is printed
    /// either alone on a line or, in a JSON document, before the other members.
    package static func secret(
        _ name: String, _ value: Span<UInt8>, asJSON: Bool, with others: [(String, JSONDocument)] = []
    ) throws(CofferError) {
        // Without the brace that begins the object of the other members.
        let rest = String(try JSONDocument.object(others).encoded().dropFirst())
        if asJSON { try text("{") }
        try member(name, value, named: asJSON, asJSON: asJSON)
        guard asJSON else { return try text("\n") }
        try text((others.isEmpty ? "" : ",") + rest + "\n")
    }

    /// Writes bytes to standard output, either unchanged or, in a JSON document, as Base64 before the other
    /// members.
    package static func content(
        _ name: String, _ value: Span<UInt8>, asJSON: Bool, with others: [(String, JSONDocument)] = []
    ) throws(CofferError) {
        guard asJSON else { return try bytes(value) }
        let text = try Encoding.base64(value)
        try secret(name, text.span, asJSON: true, with: others)
    }

    /// Prints two secrets that contain no characters that JSON would escape, either on separate lines with
    /// their names or in one JSON document.
    package static func secrets(
        _ firstName: String, _ first: Span<UInt8>, _ secondName: String, _ second: Span<UInt8>, asJSON: Bool
    ) throws(CofferError) {
        if asJSON { try text("{") }
        try member(firstName, first, named: true, asJSON: asJSON)
        try text(asJSON ? "," : "\n")
        try member(secondName, second, named: true, asJSON: asJSON)
        try text(asJSON ? "}\n" : "\n")
    }

    /// Prints a secret and its name in parts, so the secret never becomes a string.
    private static func member(
        _ name: String, _ value: Span<UInt8>, named: Bool, asJSON: Bool
    ) throws(CofferError) {
        if named { try text(asJSON ? "\"\(name)\":\"" : "\(name): ") }
        try bytes(value)
        if asJSON { try text("\"") }
    }

    private static func text(_ text: String) throws(CofferError) { try bytes(Array(text.utf8).span) }
}
