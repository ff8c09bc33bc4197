public import CCoffer
import Coffer
import CofferBase
import CofferCrypto
import CofferVault
import Synchronization

/// `coffer_create`: see coffer.h, which documents every function.
@_cdecl("coffer_create")
public func create(
    _ home: UnsafePointer<CChar>?, _ user: UnsafePointer<CChar>?, _ passcode: UnsafePointer<UInt8>?,
    _ length: Int, _ options: UnsafePointer<coffer_create_options>?,
    _ vault: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<coffer_error>?
) -> Int32 {
    unsafe Call.perform(error) { () throws(CofferError) in
        let place = unsafe try Output.empty(vault, "vault")
        let location = unsafe try Input.location(home, user)
        let options = unsafe try VaultOptions(options)
        let passcode = unsafe try Input.passcode(passcode, length)
        let created = try Call.wait { () async throws(CofferError) in
            try await Vault.create(at: location, options: options, passcode: passcode)
        }
        unsafe place.pointee = Handles.vaults.insert(OpenVault(created))
    }
}

/// `coffer_open`.
@_cdecl("coffer_open")
public func open(
    _ home: UnsafePointer<CChar>?, _ user: UnsafePointer<CChar>?,
    _ vault: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<coffer_error>?
) -> Int32 {
    unsafe Call.perform(error) { () throws(CofferError) in
        let place = unsafe try Output.empty(vault, "vault")
        let location = unsafe try Input.location(home, user)
        let opened = try Call.wait { () async throws(CofferError) in try await Vault(at: location) }
        // What other programs of this user keep in memory until a lock is visible here, as for the command.
        opened.shareEphemeralTokens()
        unsafe place.pointee = Handles.vaults.insert(OpenVault(opened))
    }
}

/// `coffer_unlock`.
@_cdecl("coffer_unlock")
public func unlock(
    _ vault: OpaquePointer?, _ passcode: UnsafePointer<UInt8>?, _ length: Int,
    _ error: UnsafeMutablePointer<coffer_error>?
) -> Int32 {
    unsafe Call.perform(error) { () throws(CofferError) in
        let open = unsafe try OpenVault.of(vault)
        let passcode = unsafe try Input.passcode(passcode, length)
        try open.wait { (vault) async throws(CofferError) in try await vault.unlock(with: passcode) }
    }
}

/// `coffer_unlock_fd`.
@_cdecl("coffer_unlock_fd")
public func unlock(
    _ vault: OpaquePointer?, descriptor: Int32, _ error: UnsafeMutablePointer<coffer_error>?
) -> Int32 {
    unsafe Call.perform(error) { () throws(CofferError) in
        let passcode = try PasscodeLine.read(descriptor, deadline: Call.timeout)
        let open = unsafe try OpenVault.of(vault)
        try open.wait { (vault) async throws(CofferError) in try await vault.unlock(with: passcode) }
    }
}

/// `coffer_lock`.
@_cdecl("coffer_lock")
public func lock(_ vault: OpaquePointer?, _ error: UnsafeMutablePointer<coffer_error>?) -> Int32 {
    unsafe Call.perform(error) { () throws(CofferError) in unsafe try OpenVault.of(vault).vault.lock() }
}

/// `coffer_is_unlocked`.
@_cdecl("coffer_is_unlocked")
public func isUnlocked(
    _ vault: OpaquePointer?, _ answer: UnsafeMutablePointer<Int32>?,
    _ error: UnsafeMutablePointer<coffer_error>?
) -> Int32 {
    unsafe Call.perform(error) { () throws(CofferError) in
        guard let answer = unsafe answer else { throw Input.missing("answer") }
        unsafe answer.pointee = try OpenVault.of(vault).vault.isUnlocked ? 1 : 0
    }
}

/// `coffer_change_passcode`.
@_cdecl("coffer_change_passcode")
public func changePasscode(
    _ vault: OpaquePointer?, _ old: UnsafePointer<UInt8>?, _ oldLength: Int,
    _ new: UnsafePointer<UInt8>?, _ length: Int, _ error: UnsafeMutablePointer<coffer_error>?
) -> Int32 {
    unsafe Call.perform(error) { () throws(CofferError) in
        let open = unsafe try OpenVault.of(vault)
        let current = unsafe try Input.passcode(old, oldLength)
        let new = unsafe try Input.passcode(new, length)
        try open.wait { (vault) async throws(CofferError) in
            _ = try await vault.changePasscode(to: new, current: current)
        }
    }
}

/// `coffer_set_timeout`.
@_cdecl("coffer_set_timeout")
public func setTimeout(
    _ vault: OpaquePointer?, _ milliseconds: UInt32, _ error: UnsafeMutablePointer<coffer_error>?
) -> Int32 {
    unsafe Call.perform(error) { () throws(CofferError) in
        guard (1...86_400_000).contains(milliseconds) else {
            throw CofferError(.invalidInput, "A deadline must be 1 to 86400000 milliseconds.")
        }
        if unsafe vault == nil {
            Call.defaultTimeout.store(milliseconds, ordering: .relaxed)
        } else {
            unsafe try OpenVault.of(vault).setTimeout(milliseconds)
        }
    }
}

/// `coffer_cancel`.
@_cdecl("coffer_cancel")
public func cancel(_ vault: OpaquePointer?, _ error: UnsafeMutablePointer<coffer_error>?) -> Int32 {
    unsafe Call.perform(error) { () throws(CofferError) in unsafe try OpenVault.of(vault).cancelCalls() }
}

/// `coffer_close`.
@_cdecl("coffer_close")
public func close(_ vault: OpaquePointer?) -> Int32 {
    // In a forked process, a thread that is not there may hold a lock: not even this is safe.
    guard !ForkMark.isForked else { return COFFER_FORKED }
    guard let closed = unsafe Handles.vaults.remove(vault) else { return COFFER_INVALID_INPUT }
    closed.vault.close()
    return COFFER_OK
}

extension VaultOptions {
    /// Reads what a C caller asks for; NULL stands for the defaults.
    fileprivate init(_ pointer: UnsafePointer<coffer_create_options>?) throws(CofferError) {
        self.init()
        guard let pointer = unsafe pointer else { return }
        let size = unsafe pointer.pointee.size
        let known = COFFER_CREATE_NEVER_ERASE | COFFER_CREATE_MOVABLE | COFFER_CREATE_NO_INACTIVITY_LOCK
        guard size >= MemoryLayout<coffer_create_options>.size, unsafe pointer.pointee.flags & ~known == 0
        else {
            throw CofferError(
                .invalidInput, "The options' size or flags are not those of coffer_create_options.")
        }
        let wanted = unsafe pointer.pointee
        erasesAfterTenFailures = wanted.flags & COFFER_CREATE_NEVER_ERASE == 0
        newItemsAreMovable = wanted.flags & COFFER_CREATE_MOVABLE != 0
        if wanted.inactivity_seconds > 0 { inactivity = .seconds(Int64(wanted.inactivity_seconds)) }
        if wanted.flags & COFFER_CREATE_NO_INACTIVITY_LOCK != 0 { inactivity = nil }
        guard wanted.kdf_memory_mib > 0 || wanted.kdf_passes > 0 else { return }
        let memory = wanted.kdf_memory_mib > 0 ? Int(wanted.kdf_memory_mib) * 1024 : cost.memoryKiB
        let passes = wanted.kdf_passes > 0 ? Int(wanted.kdf_passes) : cost.passes
        cost = try Argon2id.Cost(memoryKiB: memory, passes: passes)
    }
}
