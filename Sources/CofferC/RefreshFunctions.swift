public import CCoffer
import Coffer
import CofferBase
import FoundationEssentials

/// `coffer_refresh_begin`.
@_cdecl("coffer_refresh_begin")
public func beginRefresh(
    _ vault: OpaquePointer?, _ service: UnsafePointer<CChar>?, _ account: UnsafePointer<CChar>?,
    _ kind: UnsafePointer<CChar>?, _ milliseconds: UInt32, _ refresh: UnsafeMutablePointer<OpaquePointer?>?,
    _ token: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<coffer_error>?
) -> Int32 {
    unsafe Call.perform(error) { () throws(CofferError) in
        let handle = unsafe try Output.empty(refresh, "refresh")
        let place = unsafe try Output.empty(token, "token")
        guard (1...3_600_000).contains(milliseconds) else {
            throw CofferError(.invalidInput, "A renewal's deadline must be 1 to 3600000 milliseconds.")
        }
        let open = unsafe try OpenVault.of(vault)
        let id = unsafe try TokenID(service, account, kind)
        switch try PendingRefresh.begin(id, in: open, deadline: .milliseconds(milliseconds)) {
        case .exchange(let pending, let current):
            do throws(CofferError) {
                try current.exposing { (bytes) throws(CofferError) in unsafe try Output.set(place, to: bytes)
                }
            } catch {
                _ = try? pending.finish(.abandoned)
                throw error
            }
            unsafe handle.pointee = Handles.refreshes.insert(pending)
        case .renewedByOther(let current):
            try current.exposing { (bytes) throws(CofferError) in unsafe try Output.set(place, to: bytes) }
        }
    }
}

/// `coffer_refresh_commit`.
@_cdecl("coffer_refresh_commit")
public func commitRefresh(
    _ refresh: OpaquePointer?, _ token: UnsafePointer<UInt8>?, _ length: Int, _ expires: Double,
    _ error: UnsafeMutablePointer<coffer_error>?
) -> Int32 {
    unsafe Call.perform(error) { () throws(CofferError) in
        let pending = unsafe try PendingRefresh.taking(refresh)
        let answer: PendingRefresh.Answer
        do throws(CofferError) {
            answer = .renewed(unsafe try Token(token, length), expires: try Date.expiry(expires))
        } catch {
            _ = try? pending.finish(.abandoned)
            throw error
        }
        _ = try pending.finish(answer)
    }
}

/// `coffer_refresh_abandon`.
@_cdecl("coffer_refresh_abandon")
public func abandonRefresh(_ refresh: OpaquePointer?, _ error: UnsafeMutablePointer<coffer_error>?) -> Int32 {
    unsafe Call.perform(error) { () throws(CofferError) in
        unsafe try end(refresh, with: .abandoned, expecting: .cancelled)
    }
}

/// `coffer_refresh_revoked`.
@_cdecl("coffer_refresh_revoked")
public func revokedRefresh(_ refresh: OpaquePointer?, _ error: UnsafeMutablePointer<coffer_error>?) -> Int32 {
    unsafe Call.perform(error) { () throws(CofferError) in
        unsafe try end(refresh, with: .revoked, expecting: .tokenRevoked)
    }
}

/// Ends a renewal without a token, which the library reports by an error of its own.
private func end(
    _ refresh: OpaquePointer?, with answer: PendingRefresh.Answer, expecting code: CofferError.Code
) throws(CofferError) {
    let pending = unsafe try PendingRefresh.taking(refresh)
    do throws(CofferError) {
        _ = try pending.finish(answer)
    } catch {
        guard error.code == code else { throw error }
    }
}

extension PendingRefresh {
    /// Takes a renewal out of its handle.
    ///
    /// - Throws: `invalidInput` if the handle is not that of a renewal that waits.
    fileprivate static func taking(_ handle: OpaquePointer?) throws(CofferError) -> PendingRefresh {
        guard let found = unsafe Handles.refreshes.remove(handle) else {
            throw CofferError(
                .invalidInput, "The handle is not that of a renewal. It may have ended before.")
        }
        return found
    }
}
