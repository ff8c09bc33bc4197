import Glibc
package import SystemPackage

/// The environment of this process, which must never contain secrets.
package enum Environment {
    /// Returns the value of the environment variable `name`, or `nil` if it is unset or empty.
    package static func value(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        let text = unsafe String(cString: value)
        return text.isEmpty ? nil : text
    }

    /// Returns the path in the environment variable `name`, byte for byte, or `nil` if the variable is unset
    /// or empty.
    package static func path(_ name: String) -> FilePath? {
        guard let value = unsafe getenv(name) else { return nil }
        let path = unsafe FilePath(platformString: value)
        return path.isEmpty ? nil : path
    }

    /// The absolute path of the working directory, or `nil` if the directory has been removed or its path is
    /// too long.
    package static var workingDirectory: FilePath? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        guard unsafe getcwd(&buffer, buffer.count) != nil else { return nil }
        return FileNameBytes.path(buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) })
    }

    /// The number of processors that are online, at least 1.
    package static var processors: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

    /// The id of this process.
    package static var processID: Int32 { getpid() }

    /// The id of the user on whose behalf this process acts.
    package static var userID: UInt32 { geteuid() }
}
