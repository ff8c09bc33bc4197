import CofferBase
import CofferEngine
import SystemPackage

/// The temporary directory that the demo uses.
struct DemoDirectory {
    let path: FilePath
    private let parent: FilePath
    private let name: FilePath

    static func make() throws(CofferError) -> DemoDirectory {
        let parent = FilePath(Environment.value("TMPDIR") ?? "/tmp")
        let name = FilePath("coffer-demo" + (try Descriptor.temporaryName().string))
        try Descriptor.open(parent, [.read, .directory]).makeDirectory(name)
        return DemoDirectory(path: parent.pushing(name), parent: parent, name: name)
    }

    /// Writes a sample file for the demo to protect and returns the file's path.
    func makeSample() throws(CofferError) -> FilePath {
        let name: FilePath = "sample-letter.txt"
        let line = Array("This sample stands for a letter that nobody else should read.\n".utf8)
        let content = [[UInt8]](repeating: line, count: 2000).flatMap { $0 } + (try SecureRandom.bytes(32))
        try Descriptor.open(path, [.read, .directory]).replace(name, with: content.span)
        return path.pushing(name)
    }

    func remove() {
        try? Descriptor.open(parent, [.read, .directory]).removeTree(name)
    }
}
