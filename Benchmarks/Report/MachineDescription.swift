/// The machine and the libraries that the figures apply to.
package struct MachineDescription: Codable, Sendable {
    package let cpu: String
    package let cores: Int
    package let os: String
    package let openssl: String
    package let swift: String
    package let date: String

    package init(cpu: String, cores: Int, os: String, openssl: String, swift: String, date: String) {
        self.cpu = cpu
        self.cores = cores
        self.os = os
        self.openssl = openssl
        self.swift = swift
        self.date = date
    }

    /// The description for the terminal.
    package var lines: [String] {
        ["\(cpu), \(cores) cores; \(os)", "OpenSSL \(openssl), Swift \(swift), \(date)", ""]
    }
}
