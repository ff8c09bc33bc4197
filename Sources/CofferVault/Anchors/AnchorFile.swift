package import CofferBase
import CofferCrypto
import CofferEngine
import Synchronization
package import SystemPackage

/// A vault's number in a file in another place: two slots that are updated in place, so that the file can be
/// in a directory where only another user may create or replace files.
///
/// The place may be a mount that does not answer. Every function here therefore gives up after
/// ``deadline``; the thread that waits for the mount ends when the mount answers or the process ends.
package struct AnchorFile: Sendable {
    package static let slotSize = 512
    package static let deadline = Duration.seconds(3)

    private struct Number: RecordPayload {
        let value: UInt64

        init(_ value: UInt64) { self.value = value }

        init(from reader: inout BinaryReader) throws(CofferError) {
            value = try reader.number()
            guard reader.remaining == 0 else { throw reader.corruptError }
        }

        func encode(to writer: inout BinaryWriter) { writer.append(value) }
    }

    /// The threads that access anchors.
    private struct Calls {
        var next = 0
        var running: [Int: (path: FilePath, since: Duration)] = [:]

        /// Notes a call for this path; `nil` if another one has been waiting for longer than the deadline, or
        /// if there are too many.
        mutating func begin(_ path: FilePath) -> Int? {
            let isSilent = running.values.contains {
                $0.path == path && Clock.sinceBoot - $0.since >= AnchorFile.deadline
            }
            guard !isSilent, running.count < AnchorFile.maxCalls else { return nil }
            next += 1
            running[next] = (path, Clock.sinceBoot)
            return next
        }

        mutating func end(_ number: Int) { running[number] = nil }
    }

    private static let calls = Mutex(Calls())
    private static let maxCalls = 16

    package let path: FilePath
    private let device: DeviceKey

    package init(path: [UInt8], device: DeviceKey) {
        self.path = FilePath(String(decoding: path, as: UTF8.self))
        self.device = device
    }

    private func record(_ name: FilePath.Component) -> AuthenticatedRecord<Number> {
        AuthenticatedRecord(
            name: FilePath(root: nil, [name]), magic: FileMagic.anchorFile, keyLabel: KDFLabel.anchorFile,
            slotSize: Self.slotSize, displayName: "anchor \(path)")
    }

    /// Returns the number in the file.
    package func number() throws(CofferError) -> UInt64 {
        try answering { (directory, record) throws(CofferError) in
            try record.read(device: device, in: directory).payload.value
        }
    }

    /// Writes `number` to the file, unless the file has a higher one.
    ///
    /// - Returns: The number that the file has then.
    package func raise(to number: UInt64) throws(CofferError) -> UInt64 {
        try answering { (directory, record) throws(CofferError) in
            let stored = try record.read(device: device, in: directory)
            guard stored.payload.value < number else { return stored.payload.value }
            try record.update(stored, to: Number(number), device: device, in: directory)
            return number
        }
    }

    /// Writes `number` to the file, also over a higher one, and creates the file if there is none.
    ///
    /// - Throws: `alreadyExists` if the path is in use by a file that is not this vault's anchor; `refused`
    ///   if the path is in the vault directory.
    package func set(to number: UInt64, outside home: VaultDirectory) throws(CofferError) {
        try answering { (directory, record) throws(CofferError) in
            guard try !home.contains(directory) else {
                throw CofferError(
                    .refused,
                    "The anchor must be outside of the vault directory, on another disk if possible."
                )
            }
            guard try directory.status(of: record.name) != nil else {
                // A part of a file, which a kill left, would not be known for this vault's anchor.
                let content = try record.newFile(Number(number), device: device)
                return try AtomicFile.create(at: path, outside: home) { (file) throws(CofferError) in
                    try file.write(content.span, at: 0)
                }
            }
            let stored: AuthenticatedRecord<Number>.Contents
            do throws(CofferError) {
                stored = try record.read(device: device, in: directory)
            } catch {
                guard [.corrupt, .foreign, .refused].contains(error.code) else { throw error }
                throw CofferError(
                    .alreadyExists,
                    "\(path) exists and is not an anchor of this vault. Nothing was changed. Move that file "
                        + "away, or choose another path.")
            }
            try record.update(stored, to: Number(number), device: device, in: directory)
        }
    }

    /// Removes the file if it is this vault's anchor.
    package func remove() throws(CofferError) {
        try answering { (directory, record) throws(CofferError) in
            _ = try record.read(device: device, in: directory)
            try directory.remove(record.name)
        }
    }

    private func answering<Result: Sendable>(
        _ body:
            @escaping @Sendable (borrowing Descriptor, AuthenticatedRecord<Number>) throws(CofferError) ->
            Result
    ) throws(CofferError) -> Result {
        guard let name = path.lastComponent else {
            throw CofferError(.invalidInput, "The path of an anchor must end with a file name.")
        }
        let (parent, record) = (path.removingLastComponent(), record(name))
        // A place that does not answer is not waited for again until it does.
        guard let number = Self.calls.withLock({ $0.begin(path) }) else {
            throw CofferError(.timedOut, "\(path) has not answered for some time.")
        }
        do throws(CofferError) {
            return try answering(number, parent, record, body)
        } catch {
            // Without a thread, nothing waits.
            if error.code == .outOfMemory { Self.calls.withLock { $0.end(number) } }
            throw error
        }
    }

    private func answering<Result: Sendable>(
        _ number: Int, _ parent: FilePath, _ record: AuthenticatedRecord<Number>,
        _ body:
            @escaping @Sendable (borrowing Descriptor, AuthenticatedRecord<Number>) throws(CofferError) ->
            Result
    ) throws(CofferError) -> Result {
        try Threads.call(within: Self.deadline, waitingFor: "\(path)") { () throws(CofferError) in
            defer { Self.calls.withLock { $0.end(number) } }
            return try body(Descriptor.open(parent, [.read, .directory]), record)
        }
    }
}
