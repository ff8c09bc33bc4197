import Glibc
package import SystemPackage

/// Conversions between file names and bytes. On Linux, file names need not be UTF-8.
package enum FileNameBytes {
    /// Returns the bytes of a name.
    package static func of(_ name: FilePath.Component) -> [UInt8] {
        unsafe name.withPlatformString { unsafe copy($0) }
    }

    /// Returns the name that consists of the given bytes, or `nil` if there are none or they contain a NUL or
    /// a slash.
    package static func component(_ bytes: [UInt8]) -> FilePath.Component? {
        guard !bytes.isEmpty, !bytes.contains(0), !bytes.contains(UInt8(ascii: "/")) else { return nil }
        let characters = bytes.map { CChar(bitPattern: $0) } + [0]
        return unsafe characters.withUnsafeBufferPointer { buffer in
            unsafe buffer.baseAddress.flatMap { unsafe FilePath.Component(platformString: $0) }
        }
    }

    /// Returns the bytes of a whole path.
    package static func of(_ path: FilePath) -> [UInt8] {
        unsafe path.withPlatformString { unsafe copy($0) }
    }

    /// Returns the path that consists of the given bytes, or `nil` if they contain a NUL.
    package static func path(_ bytes: [UInt8]) -> FilePath? {
        guard !bytes.contains(0) else { return nil }
        let characters = bytes.map { CChar(bitPattern: $0) } + [0]
        return unsafe characters.withUnsafeBufferPointer { buffer in
            unsafe buffer.baseAddress.map { unsafe FilePath(platformString: $0) }
        }
    }

    private static func copy(_ text: UnsafePointer<CChar>) -> [UInt8] {
        let bytes = unsafe UnsafeBufferPointer(start: text, count: strlen(text))
        return unsafe bytes.map { UInt8(bitPattern: $0) }
    }
}
