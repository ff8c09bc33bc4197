@testable import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import TestSupport

/// The index of files. Frames get right tags here, so that the fields behind them are read.
extension FuzzTarget {
    static let indexes = [
        FuzzTarget("file-index") { bytes, world in
            guard let choice = bytes.first else { return }
            let rest = Array(bytes.dropFirst())
            guard choice & 1 == 1 else { return try readUnauthentic(rest, world) }
            var (file, count) = try framed(rest, world, isCommitted: choice & 2 == 2)
            if choice & 4 == 4, let last = file.indices.last { file[last] ^= 1 }
            let contents = try FileIndexContents(file, device: world.device)
            try FuzzFinding.require(contents.frames.count <= count, "a frame is there twice")
            let isWhole = contents.frames.count == count
            try FuzzFinding.require(
                choice & 6 != 6 || count == 0 || contents.isDamaged, "the last frame vanishes silently")
            try FuzzFinding.require(choice & 4 == 4 || isWhole, "a frame with a right tag is missing")
            for frame in contents.frames where frame.kind == .records {
                do throws(CofferError) {
                    _ = try frame.open(classKey: world.classKey, vaultID: world.device.vaultID)
                    throw CofferError(.internalFailure, "opened")
                } catch {
                    try FuzzFinding.require(error.code == .corrupt, "records that nobody sealed open")
                }
            }
        }
    ]

    private static func readUnauthentic(_ bytes: [UInt8], _ world: FuzzWorld) throws {
        let contents = try FileIndexContents(bytes, device: world.device)
        try FuzzFinding.require(
            contents.entries.isEmpty && contents.frames.isEmpty, "a frame that nobody authenticated is taken")
    }

    /// A whole index; each frame comes as a length (2) and all between its own length and its tag.
    private static func framed(
        _ bytes: [UInt8], _ world: FuzzWorld, isCommitted: Bool
    ) throws -> (file: [UInt8], count: Int) {
        let key = try world.device.key(KDFLabel.fileIndexMAC)
        var (frames, tag, count) = ([UInt8](), FileIndexContents.noTag, 0)
        var reader = BinaryReader(bytes, name: "frames")
        while let length = try? reader.number(UInt16.self), length >= 8,
            let body = try? reader.take(Int(length))
        {
            let whole = UInt32(4 + body.count + FileIndexFrame.tagSize).bigEndianBytes + body
            tag = try HMAC.authenticate((tag + whole).span, key: key)
            frames += whole + tag
            count += 1
        }
        var file = try FileIndexContents.file(frames: frames, lastTag: tag, device: world.device)
        guard !isCommitted else { return (file, count) }
        let empty = try FileIndexContents.file(
            frames: [], lastTag: FileIndexContents.noTag, device: world.device)
        file.replaceSubrange(..<empty.count, with: empty)
        return (file, count)
    }
}
