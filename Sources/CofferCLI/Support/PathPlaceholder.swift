import CofferBase
import CofferEngine

/// The placeholder `{}`, which stands for the path of a copy in a command.
enum PathPlaceholder {
    private static let mark = "{}"
    /// The bytes that have no special meaning inside an argument, in addition to letters, digits and
    /// non-ASCII bytes. This set excludes `,` and `:`, which separate the parts of many options' values; `@`,
    /// which marks an array in Perl; and `%`, which systemd, vim and printf expand.
    private static let plain = Set("/._-+=".utf8)
    /// The options of shells and interpreters whose value is code.
    private static let codeOptions = ["-c", "-lc", "--command", "-e", "--eval"]

    /// Returns the arguments with every `{}` replaced by the path. If there is no `{}`, appends the path.
    ///
    /// The name in the path may come from someone else. Unless the path contains only harmless bytes, it must
    /// therefore be a separate argument. Inside another argument, such as `sh -c 'cat {}'` or `make F={}`,
    /// the path could be executed as code. The same applies to a separate argument that follows an option
    /// whose value is code.
    ///
    /// - Throws: `invalidInput` if it is not safe to insert the path.
    static func expand(_ command: [String], path: [UInt8]) throws(CofferError) -> [[UInt8]] {
        let hasMark = command.contains { expand(ProgramArguments.bytes($0), path) != nil }
        let isPlain = isPlain(path)
        var arguments: [[UInt8]] = []
        var option = ""
        for argument in hasMark ? command : command + [mark] {
            let bytes = ProgramArguments.bytes(argument)
            let expanded = expand(bytes, path)
            if expanded != nil, !isPlain { try check(argument, after: option) }
            arguments.append(expanded ?? bytes)
            option = argument
        }
        return arguments
    }

    /// Checks that it is safe to insert a path with any bytes into an argument that contains the placeholder.
    private static func check(_ argument: String, after option: String) throws(CofferError) {
        guard argument.hasSameBytes(as: mark) else {
            throw CofferError(
                .invalidInput,
                "The file's name contains characters that could be interpreted as code in \(argument). "
                    + "Pass {} as an argument of its own, as in sh -c 'cat \"$1\"' sh {}, or use "
                    + "--descriptor.")
        }
        guard !codeOptions.contains(where: { option.hasSameBytes(as: $0) }) else {
            throw CofferError(
                .invalidInput,
                "The file's name contains characters that could be interpreted as code after \(option). "
                    + "Pass {} elsewhere, as in sh -c 'cat \"$1\"' sh {} or wc {} -c, or use --descriptor.")
        }
    }

    /// Returns the argument with every `{}` replaced by the path, or `nil` if the argument does not contain
    /// `{}`.
    private static func expand(_ argument: [UInt8], _ path: [UInt8]) -> [UInt8]? {
        var expanded: [UInt8] = []
        var hasMark = false
        var rest = argument[...]
        while let first = rest.first {
            let isMark = rest.starts(with: mark.utf8)
            if isMark { expanded += path } else { expanded.append(first) }
            rest = rest.dropFirst(isMark ? mark.utf8.count : 1)
            hasMark = hasMark || isMark
        }
        return hasMark ? expanded : nil
    }

    private static func isPlain(_ path: [UInt8]) -> Bool {
        path.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...:
                true
            default: plain.contains(byte)
            }
        }
    }
}
