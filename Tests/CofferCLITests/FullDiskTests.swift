import Foundation
import Testing
import TestSupport

@Suite("Files and full disks", .enabled(if: Namespace.isAvailable))
struct FullDiskTests {
    private func make(_ size: Int) throws -> (home: CommandHome, file: String, folder: String) {
        let home = try CommandHome(passcode: nil)
        let folder = home.folder.appending(path: "full").path(percentEncoded: false)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        return (home, try home.file("big", [UInt8](repeating: 7, count: size)), folder)
    }

    @Test("Exporting to a full file system leaves nothing there")
    func export() throws {
        let (home, file, folder) = try make(1 << 20)
        let id = try home.add(file)
        let run = try Namespace.run(
            """
            mount -t tmpfs -o size=256k tmpfs "$2" || exit 99
            "$0" file export "$3" "$2/out" --home "$1" --json
            echo " $?"; ls -A "$2" | wc -l
            """, [home.path, folder, id])
        #expect(run.text.contains("noSpace") && run.text.hasSuffix(" 1\n0\n"))
    }

    @Test("A home on a full file system stays as it was, and files can be removed from it")
    func add() throws {
        let (home, file, folder) = try make(2 << 20)
        let small = try home.add(try home.file("small", [1, 2, 3]))
        let run = try Namespace.run(
            """
            mount -t tmpfs -o size=1m,mode=700 tmpfs "$2" && cp -a "$1/." "$2" || exit 99
            "$0" file add "$3" --home "$2" --json
            echo " $?"; ls -A "$2/vault/files" | wc -l
            dd if=/dev/zero of="$2/filler" bs=4k 2>/dev/null
            "$0" file cat "$4" --home "$2" | wc -c
            "$0" file remove "$4" --home "$2"; echo "removed $?"
            "$0" file list --home "$2" | wc -l
            """, [home.path, folder, file, small])
        #expect(run.text.contains("noSpace"))
        #expect(run.text.contains(" 1\n1\n3\nremoved 0\n"), "\(run.text)")
    }

    @Test("A view copy that does not fit is refused, and nothing of it is left")
    func view() throws {
        let (home, file, folder) = try make(1 << 20)
        let id = try home.add(file)
        let run = try Namespace.run(
            """
            mount -t tmpfs -o size=1536k,mode=700 tmpfs "$2" || exit 99
            XDG_RUNTIME_DIR="$2" "$0" file view "$3" --home "$1" --json -- cat
            echo " $?"; find "$2" -type f | wc -l
            """, [home.path, folder, id])
        #expect(run.text.contains("noSpace") && run.text.hasSuffix(" 1\n0\n"), "\(run.text)")
    }
}
