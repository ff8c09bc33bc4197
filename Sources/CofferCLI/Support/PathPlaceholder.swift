import CofferBase
import CofferEngine

/// `{}` in a command, which stands for the path of a copy.
enum PathPlaceholder {
    private static let mark = "{}"
    /// Beside letters, digits and characters beyond ASCII, the bytes of a path that no shell reads as more
    /// than themselves.
    private static let plain = Set("/._-+,:=@%".utf8)
    /// Bytes that an argument with code has, and a path or the value of an option seldom.
    private static let code = Set(" \t\n'\"\\;|&$<>()`*?#~![]".utf8)

    /// Returns the arguments with every `{}` replaced; if there is none, the path is appended.
    ///
    /// The name in the path may come from somebody else. So it is not put into an argument that looks like
    /// code, unless it is harmless there.
    ///
    /// - Throws: `invalidInput`.
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
                    "The file's name has characters that the code \(argument) could take for its own. Pass "
                        + "{} as an argument of its own, as in sh -c 'cat \"$1\"' sh {}.")
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
            let isMark = rest.hasPrefix(mark)
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
