import CofferBase

#if SecretService
    import CGIO

    extension BusValue {
        /// The value as a floating GVariant, which the receiver sinks.
        var variant: OpaquePointer? {
            switch self {
            case .text(let text): unsafe g_variant_new_string(text)
            case .path(let path): unsafe g_variant_new_object_path(path)
            case .flag(let flag): unsafe g_variant_new_boolean(flag ? 1 : 0)
            case .number(let number): unsafe g_variant_new_uint32(number)
            case .bytes(let bytes): unsafe Self.array(of: bytes)
            case .paths(let paths): unsafe Self.list("ao", paths.map { .path($0) })
            case .strings(let strings): unsafe Self.dictionary("a{ss}", strings.mapValues { .text($0) })
            case .properties(let values):
                unsafe Self.dictionary("a{sv}", values.mapValues { .variant($0) })
            case .byPath: nil
            case .structure(let fields): unsafe Self.tuple(fields)
            case .variant(let value): unsafe g_variant_new_variant(value.variant)
            case .other: nil
            }
        }

        /// Returns a call's arguments as a floating tuple. The call takes ownership of the tuple, and the
        /// tuple takes ownership of its parts.
        static func tuple(_ fields: [BusValue]) -> OpaquePointer? {
            var parts = unsafe fields.map { unsafe $0.variant }
            return unsafe g_variant_new_tuple(&parts, gsize(parts.count))
        }

        private static func array(of bytes: [UInt8]) -> OpaquePointer? {
            unsafe bytes.withUnsafeBytes { buffer in
                unsafe withType("y") { type in
                    unsafe g_variant_new_fixed_array(type, buffer.baseAddress, gsize(buffer.count), 1)
                }
            }
        }

        private static func list(_ typeText: String, _ elements: [BusValue]) -> OpaquePointer? {
            guard let builder = unsafe withType(typeText, { unsafe g_variant_builder_new($0) }) else {
                return nil
            }
            defer { unsafe g_variant_builder_unref(builder) }
            for element in elements { unsafe g_variant_builder_add_value(builder, element.variant) }
            return unsafe g_variant_builder_end(builder)
        }

        private static func dictionary(_ typeText: String, _ entries: [String: BusValue]) -> OpaquePointer? {
            guard let builder = unsafe withType(typeText, { unsafe g_variant_builder_new($0) }) else {
                return nil
            }
            defer { unsafe g_variant_builder_unref(builder) }
            for (key, value) in entries {
                let entry = unsafe g_variant_new_dict_entry(g_variant_new_string(key), value.variant)
                unsafe g_variant_builder_add_value(builder, entry)
            }
            return unsafe g_variant_builder_end(builder)
        }

        /// Calls `body` with the type that `text` describes. The type is valid during the call. `text` must
        /// be a valid type string.
        private static func withType<Result>(
            _ text: String, _ body: (OpaquePointer?) -> Result?
        ) -> Result? {
            let type = unsafe g_variant_type_new(text)
            defer { unsafe g_variant_type_free(type) }
            return unsafe body(type)
        }

        /// Converts a GVariant, which the caller continues to own.
        static func reading(_ variant: OpaquePointer) -> BusValue {
            switch unsafe String(cString: g_variant_get_type_string(variant)) {
            case "s": unsafe .text(String(cString: g_variant_get_string(variant, nil)))
            case "o": unsafe .path(String(cString: g_variant_get_string(variant, nil)))
            case "b": unsafe .flag(g_variant_get_boolean(variant) != 0)
            case "u": unsafe .number(g_variant_get_uint32(variant))
            case "ay": unsafe .bytes(readingBytes(variant))
            case "ao": unsafe .paths(children(variant).compactMap(\.text))
            case "v": unsafe .variant(children(variant).first ?? .other)
            case "a{ss}": unsafe .strings(entries(variant).compactMapValues(\.text))
            case "a{sv}": unsafe .properties(entries(variant).compactMapValues(\.content))
            case let type where type.utf8.hasPrefix("a{o"): unsafe .byPath(entries(variant))
            case let type where type.utf8.hasPrefix("("): unsafe .structure(children(variant))
            default: .other
            }
        }

        private static func children(_ variant: OpaquePointer) -> [BusValue] {
            let count = unsafe g_variant_n_children(variant)
            return (0..<count).map { index in
                guard let child = unsafe g_variant_get_child_value(variant, index) else { return .other }
                defer { unsafe g_variant_unref(child) }
                return unsafe reading(child)
            }
        }

        private static func entries(_ variant: OpaquePointer) -> [String: BusValue] {
            var result: [String: BusValue] = [:]
            for index in 0..<(unsafe g_variant_n_children(variant)) {
                guard let entry = unsafe g_variant_get_child_value(variant, index) else { continue }
                defer { unsafe g_variant_unref(entry) }
                let pair = unsafe children(entry)
                if pair.count == 2, let key = pair[0].text { result[key] = pair[1] }
            }
            return result
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
