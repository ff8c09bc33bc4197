import CofferEngineSQLite

/// Names of databases.
extension FuzzTarget {
    static let databases = [
        // Our reading of a name must be SQLite's, and what it opens through another VFS must be refused.
        FuzzTarget("uri") { bytes, _ in
            let name = bytes.prefix(1000).filter { $0 != 0 }
            let reading = DatabaseURI.read(name)
            switch NameProbe.open(name) {
            case .file(let vfs, let opened):
                let expected: DatabaseURI? =
                    switch reading {
                    case .path: DatabaseURI(path: name, parameters: [])
                    case .uri(let uri): uri
                    case .refused: nil
                    }
                try FuzzFinding.require(expected == opened, "SQLite reads another name")
                try FuzzFinding.require(
                    vfs == NameProbe.own || !AttachRule.allows(name, vfs: NameProbe.own),
                    "a name is allowed that leads to another VFS")
            case .nothing, .refused:
                return
            }
        }
    ]
}
