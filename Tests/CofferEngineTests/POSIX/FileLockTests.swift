import CofferBase
import CofferEngine
import SystemPackage
import Testing
import TestSupport

@Suite("File locks")
struct FileLockTests {
    private func isFree(in scratch: borrowing ScratchDirectory, exclusive: Bool = true) throws -> Bool {
        let lock = try FileLock.tryAcquire("lock", in: scratch.descriptor, exclusive: exclusive)
        switch lock {
        case .some: return true
        case .none: return false
        }
    }

    /// Takes the lock and leaves it. A process that another test starts has a copy of every descriptor of
    /// this one until it has begun its program, and with it the lock that was just left: so this waits.
    private func becomesFree(in scratch: borrowing ScratchDirectory) throws {
        _ = try FileLock.acquire("lock", in: scratch.descriptor, deadline: .seconds(60))
    }

    /// A process that holds the lock until it is killed. `flock` replaces itself by the shell, which has the
    /// lock.
    private func holder(in scratch: borrowing ScratchDirectory, shared: Bool = false) throws -> Helper {
        let options = ["--no-fork", shared ? "--shared" : "--exclusive"]
        return try #require(
            Helper(
                ["flock"] + options + [scratch.path(of: "lock"), "sh", "-c", "echo ready && read -r line"]))
    }

    @Test("A lock excludes a second one in the same process until it is released")
    func excludesWithinAProcess() throws {
        let scratch = try ScratchDirectory.make()
        try holdAndExpectBusy(in: scratch)
        try becomesFree(in: scratch)
    }

    private func holdAndExpectBusy(in scratch: borrowing ScratchDirectory) throws {
        let lock = try FileLock.acquire("lock", in: scratch.descriptor, deadline: .zero)
        #expect(try !isFree(in: scratch))
        #expect(try !isFree(in: scratch, exclusive: false))
        _ = consume lock
    }

    @Test("Shared locks exclude an exclusive one but not each other")
    func sharedLocksGoTogether() throws {
        let scratch = try ScratchDirectory.make()
        let lock = try FileLock.acquire("lock", in: scratch.descriptor, exclusive: false, deadline: .zero)
        #expect(try isFree(in: scratch, exclusive: false))
        #expect(try !isFree(in: scratch))
        _ = consume lock
    }

    @Test("Another process's lock is busy until that process is killed")
    func excludesOtherProcessesUntilTheyAreKilled() throws {
        let scratch = try ScratchDirectory.make()
        let holder = try holder(in: scratch)
        #expect(try !isFree(in: scratch))
        let before = Clock.sinceBoot
        let code = failure {
            _ = try FileLock.acquire("lock", in: scratch.descriptor, deadline: .milliseconds(20))
        }
        #expect(code == .busy)
        #expect(Clock.sinceBoot - before >= .milliseconds(20))
        holder.kill()
        try becomesFree(in: scratch)
    }

    @Test("Our lock keeps other processes out until it is released")
    func otherProcessesAreExcludedByOurs() throws {
        let scratch = try ScratchDirectory.make()
        let path = scratch.path(of: "lock")
        func taking(_ waiting: String) throws -> Int32 {
            try Helper.run(["flock", waiting, "--conflict-exit-code", "99", path, "true"]).code
        }
        let lock = try FileLock.acquire("lock", in: scratch.descriptor, deadline: .zero)
        #expect(try taking("--nonblock") == 99)
        _ = consume lock
        #expect(try taking("--timeout=60") == 0)
    }

    @Test("Another process's shared lock lets readers in and keeps writers out")
    func aSharedHolderElsewhereLeavesRoomForReaders() throws {
        let scratch = try ScratchDirectory.make()
        let holder = try holder(in: scratch, shared: true)
        #expect(try isFree(in: scratch, exclusive: false))
        #expect(try !isFree(in: scratch))
        holder.kill()
    }

    @Test("A shared lock on an existing file makes none, keeps writers out and waits for them")
    func sharedOnExisting() throws {
        let scratch = try ScratchDirectory.make()
        let missing = failure {
            _ = try FileLock.acquireShared(existing: "lock", in: scratch.descriptor, deadline: .zero)
        }
        #expect(missing == .absent)
        try becomesFree(in: scratch)
        let lock = try FileLock.acquireShared(existing: "lock", in: scratch.descriptor, deadline: .zero)
        #expect(try !isFree(in: scratch))
        _ = consume lock
        let holder = try holder(in: scratch)
        let busy = failure {
            _ = try FileLock.acquireShared(
                existing: "lock", in: scratch.descriptor, deadline: .milliseconds(20))
        }
        #expect(busy == .busy)
        holder.kill()
    }

    @Test("A lock that waits is acquired once its holder is gone")
    func waitsUntilTheHolderIsGone() async throws {
        let scratch = try ScratchDirectory.make()
        let holder = try holder(in: scratch)
        let path = scratch.path
        let waiting = Task.detached {
            let directory = try Descriptor.open(path, [.read, .directory])
            _ = try FileLock.acquire("lock", in: directory, deadline: .seconds(60))
        }
        holder.kill()
        try await waiting.value
        try becomesFree(in: scratch)
    }

    @Test("A symbolic link is not locked")
    func aLinkIsNotLocked() throws {
        let scratch = try ScratchDirectory.make()
        try scratch.link("lock", to: "elsewhere")
        #expect(failure { _ = try FileLock.tryAcquire("lock", in: scratch.descriptor) } == .refused)
    }
}
