import CArguments
package import CofferBase
import Glibc
package import SystemPackage

/// The arguments of this process as text, without any loss of information. On Linux, an argument such as a
/// file name need not be UTF-8.
///
/// A byte that is not part of a character becomes one of the private characters from U+10FF80 on. These
/// characters cannot be confused with text: if an argument contains such characters, their bytes are also
/// converted one by one.
package enum ProgramArguments {
    private static let base: UInt32 = 0x10_FF00

    /// Throws `unsupported` if this process has no arguments, not even the program's name. Otherwise, a
    /// command would behave as if the user had specified no arguments.
    package static func check() throws(CofferError) {
        guard unsafe carguments_vector() != nil, carguments_count() > 0 else {
            throw CofferError(
                .unsupported,
                "This program was started with an empty argument list. Start the program with its name as "
                    + "the first argument.")
        }
    }

    /// All arguments except the program's name.
    package static var all: [String] { (1..<max(1, Int(carguments_count()))).compactMap(argument) }

    /// The name by which the program was called, without its directory, or an empty string if there is none.
    package static var programName: String {
        guard carguments_count() > 0, let name = argument(0) else { return "" }
        return name.parts(between: "/").last ?? ""
    }

    private static func argument(_ index: Int) -> String? {
        unsafe carguments_vector()?[index].map { argument in
            let bytes = unsafe UnsafeBufferPointer(start: argument, count: strlen(argument))
            return text(unsafe bytes.map { UInt8(bitPattern: $0) })
        }
    }

    /// Returns the text that represents the given bytes.
    package static func text(_ bytes: [UInt8]) -> String {
        var text = ""
        var rest = bytes[...]
        while let first = rest.first {
            let length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
            if let character = String(validating: rest.prefix(length), as: UTF8.self), isText(character) {
                text += character
                rest = rest.dropFirst(length)
            } else {
                text.unicodeScalars.append(Unicode.Scalar(base + UInt32(first)) ?? "?")
                rest = rest.dropFirst()
            }
        }
        return text
    }

    /// Reports whether the argument's original bytes were UTF-8.
    package static func isText(_ argument: String) -> Bool {
        argument.unicodeScalars.allSatisfy { $0.value < base }
    }

    /// Returns an argument's original bytes.
    package static func bytes(_ argument: String) -> [UInt8] {
        argument.unicodeScalars.flatMap { scalar in
            scalar.value < base ? Array(String(scalar).utf8) : [UInt8(truncatingIfNeeded: scalar.value)]
        }
    }

    /// Returns the path that an argument specifies.
    package static func path(_ argument: String) -> FilePath {
        let characters = bytes(argument).map { CChar(bitPattern: $0) } + [0]
        return unsafe characters.withUnsafeBufferPointer { buffer in
            unsafe buffer.baseAddress.map { unsafe FilePath(platformString: $0) } ?? FilePath()
        }
    }
}
