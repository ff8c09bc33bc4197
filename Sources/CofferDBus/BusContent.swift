/// A value in a message that a service receives or sends.
///
/// Unlike ``BusValue``, it keeps the order and the duplicates of a dictionary's entries, and it compares no
/// text: attributes of the Secret Service are compared byte by byte.
package indirect enum BusContent: Sendable {
    case text(String)
    case path(String)
    case flag(Bool)
    case number(UInt32)
    case large(UInt64)
    case bytes([UInt8])
    /// An array, with its elements' D-Bus type.
    case list(String, [BusContent])
    /// A dictionary's entry.
    case entry(BusContent, BusContent)
    case structure([BusContent])
    case variant(BusContent)
    /// A value of a type that no method of the service takes, with that type.
    case other(String)

    package var text: String? { if case .text(let text) = self { text } else { nil } }
    package var path: String? { if case .path(let path) = self { path } else { nil } }
    package var flag: Bool? { if case .flag(let flag) = self { flag } else { nil } }
    package var large: UInt64? { if case .large(let number) = self { number } else { nil } }
    package var bytes: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }
    package var elements: [BusContent]? { if case .list(_, let elements) = self { elements } else { nil } }
    package var fields: [BusContent]? { if case .structure(let fields) = self { fields } else { nil } }
    /// A variant's content; `nil` for any other value.
    package var content: BusContent? { if case .variant(let value) = self { value } else { nil } }
    /// An array's elements that are object paths.
    package var paths: [String]? { elements?.compactMap(\.path) }

    /// The value's D-Bus type.
    package var type: String {
        switch self {
        case .text: "s"
        case .path: "o"
        case .flag: "b"
        case .number: "u"
        case .large: "t"
        case .bytes: "ay"
        case .list(let element, _): "a" + element
        case .entry(let key, let value): "{" + key.type + value.type + "}"
        case .structure(let fields): "(" + fields.map(\.type).joined() + ")"
        case .variant: "v"
        case .other(let type): type
        }
    }

    /// Returns an array of object paths.
    package static func paths(_ paths: some Sequence<String>) -> BusContent {
        .list("o", paths.map { .path($0) })
    }

    /// Returns a dictionary of text.
    package static func texts(_ pairs: some Sequence<(String, String)>) -> BusContent {
        .list("{ss}", pairs.map { .entry(.text($0.0), .text($0.1)) })
    }

    /// Returns a dictionary of properties.
    package static func properties(_ pairs: some Sequence<(String, BusContent)>) -> BusContent {
        .list("{sv}", pairs.map { .entry(.text($0.0), .variant($0.1)) })
    }
}

#if SecretService
    import CGIO

    extension BusContent {
        /// The value as a floating GVariant, which the receiver sinks; `nil` for ``other(_:)``.
        var variant: OpaquePointer? {
            switch self {
            case .text(let text): unsafe g_variant_new_string(text)
            case .path(let path): unsafe g_variant_new_object_path(path)
            case .flag(let flag): unsafe g_variant_new_boolean(flag ? 1 : 0)
            case .number(let number): unsafe g_variant_new_uint32(number)
            case .large(let number): unsafe g_variant_new_uint64(guint64(number))
            case .bytes(let bytes):
                unsafe bytes.withUnsafeBytes { buffer in
                    unsafe Self.withType("y") { type in
                        unsafe g_variant_new_fixed_array(type, buffer.baseAddress, gsize(buffer.count), 1)
                    }
                }
            case .list(let element, let elements):
                unsafe Self.withType(element) { type in
                    let parts = unsafe elements.map { unsafe $0.variant }
                    return unsafe g_variant_new_array(type, parts, gsize(parts.count))
                }
            case .entry(let key, let value): unsafe g_variant_new_dict_entry(key.variant, value.variant)
            case .structure(let fields): unsafe Self.tuple(fields)
            case .variant(let value): unsafe g_variant_new_variant(value.variant)
            case .other: nil
            }
        }

        /// Returns a message's values as a floating tuple.
        static func tuple(_ fields: [BusContent]) -> OpaquePointer? {
            let parts = unsafe fields.map { unsafe $0.variant }
            return unsafe g_variant_new_tuple(parts, gsize(parts.count))
        }

        /// Calls `body` with the type that `text` describes, which must be a valid type string.
        private static func withType(
            _ text: String, _ body: (OpaquePointer?) -> OpaquePointer?
        ) -> OpaquePointer? {
            let type = unsafe g_variant_type_new(text)
            defer { unsafe g_variant_type_free(type) }
            return unsafe body(type)
        }

        /// Converts a GVariant, which the caller continues to own. The bus limits how deep it is nested.
        static func reading(_ variant: OpaquePointer) -> BusContent {
            var room = Int.max
            return unsafe reading(variant, room: &room)
        }

        /// Converts a GVariant, which the caller continues to own, and takes the number of the values in it
        /// from `room`. If there are more, `room` is negative and the result is not whole: a value takes far
        /// more memory here than in a message.
        static func reading(_ variant: OpaquePointer, room: inout Int) -> BusContent {
            let type = unsafe String(cString: g_variant_get_type_string(variant))
            switch type {
            case "s": return unsafe .text(String(cString: g_variant_get_string(variant, nil)))
            case "o": return unsafe .path(String(cString: g_variant_get_string(variant, nil)))
            case "b": return unsafe .flag(g_variant_get_boolean(variant) != 0)
            case "u": return unsafe .number(g_variant_get_uint32(variant))
            case "t": return unsafe .large(UInt64(g_variant_get_uint64(variant)))
            case "ay": return unsafe .bytes(readingBytes(variant))
            case "v": return unsafe .variant(children(variant, &room).first ?? .other(type))
            default: break
            }
            switch type.utf8.first {
            case UInt8(ascii: "("): return unsafe .structure(children(variant, &room))
            case UInt8(ascii: "a"): return unsafe .list(String(type.dropFirst()), children(variant, &room))
            case UInt8(ascii: "{"):
                let parts = unsafe children(variant, &room)
                return parts.count == 2 ? .entry(parts[0], parts[1]) : .other(type)
            default: return .other(type)
            }
        }

        private static func children(_ variant: OpaquePointer, _ room: inout Int) -> [BusContent] {
            let count = unsafe g_variant_n_children(variant)
            room -= Int(count)
            guard room >= 0 else { return [] }
            return (0..<count).map { index in
                guard let child = unsafe g_variant_get_child_value(variant, index) else { return .other("") }
                defer { unsafe g_variant_unref(child) }
                return unsafe reading(child, room: &room)
            }
        }

        private static func readingBytes(_ variant: OpaquePointer) -> [UInt8] {
            var count: gsize = 0
            guard let start = unsafe g_variant_get_fixed_array(variant, &count, 1), count > 0 else {
                return []
            }
            return unsafe Array(UnsafeRawBufferPointer(start: start, count: Int(count)))
        }
    }
#endif
