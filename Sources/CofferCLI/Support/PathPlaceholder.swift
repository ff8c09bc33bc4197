import CofferBase
import CofferEngine

/// The placeholder `{}` in a command, which stands for the path of a copy.
enum PathPlaceholder {
    private static let mark = "{}"
    /// The bytes in a path that have no special meaning in any shell, in addition to letters, digits and
    /// non-ASCII characters.
    private static let plain = Set("/._-+,:=@%".utf8)
    /// Bytes that occur in shell code, but rarely in a path or an option's value.
    private static let code = Set(" \t\n'\"\\;|&$<>()`*?#~![]".utf8)

    /// Returns the arguments with every `{}` replaced by the path; if there is none, appends the path.
    ///
    /// The name in the path may come from someone else. The path is therefore not inserted into an argument
    /// that looks like code unless it contains only harmless bytes.
    ///
    /// - Throws: `invalidInput` if the path is not safe to insert into code.
    static func expand(_ command: [String], path: [UInt8]) throws(CofferError) -> [[UInt8]] {
        var arguments: [[UInt8]] = []
        var hasMark = false
        for argument in command {
            let bytes = ProgramArguments.bytes(argument)
            guard let expanded = expand(bytes, path) else {
                arguments.append(bytes)
                continue
            }
            let isCode = !argument.hasSameBytes(as: mark) && bytes.contains { code.contains($0) }
            guard !isCode || isPlain(path) else {
                throw CofferError(
                    .invalidInput,
                    "The file's name has characters that the code \(argument) could interpret. Pass {} as "
                        + "a separate argument, as in sh -c 'cat \"$1\"' sh {}.")
            }
            hasMark = true
            arguments.append(expanded)
        }
        return hasMark ? arguments : arguments + [path]
    }

    /// Returns an argument with every `{}` replaced; `nil` if there is none.
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
