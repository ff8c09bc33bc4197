import Synchronization

/// The objects that C code holds by number.
///
/// A handle is a number that C sees as a pointer. It points outside every address space, so code that follows
/// it crashes at once instead of reading something else. No number is used twice, so a handle that was closed
/// is recognised.
final class HandleTable<Object: AnyObject & Sendable>: Sendable {
    private struct State {
        var next: UInt = 1
        var objects: [UInt: Object] = [:]
    }

    /// No processor that Linux runs on accepts addresses that begin like this.
    private static var base: UInt { 0x8C0F_0000_0000_0000 }

    private let kind: UInt
    private let state = Mutex(State())

    /// - Parameter kind: A number below 8, which no other table has.
    init(kind: UInt) { self.kind = kind }

    /// Keeps an object until ``remove(_:)``. Returns its handle.
    func insert(_ object: Object) -> OpaquePointer? {
        let number = state.withLock { state in
            let number = state.next
            state.next += 1
            state.objects[number] = object
            return number
        }
        return unsafe OpaquePointer(bitPattern: Self.base | number << 3 | kind)
    }

    /// Returns the object of a handle; `nil` if there is none.
    func find(_ handle: OpaquePointer?) -> Object? {
        guard let number = unsafe number(of: handle) else { return nil }
        return state.withLock { $0.objects[number] }
    }

    /// Forgets a handle. Returns its object; `nil` if there is none.
    func remove(_ handle: OpaquePointer?) -> Object? {
        guard let number = unsafe number(of: handle) else { return nil }
        return state.withLock { $0.objects.removeValue(forKey: number) }
    }

    private func number(of handle: OpaquePointer?) -> UInt? {
        let bits = UInt(bitPattern: handle)
        guard bits & 0xFFFF_0000_0000_0007 == Self.base | kind else { return nil }
        return (bits & 0x0000_FFFF_FFFF_FFFF) >> 3
    }
}

/// The tables of all handles.
enum Handles {
    static let vaults = HandleTable<OpenVault>(kind: 1)
    static let bytes = HandleTable<ReturnedBytes>(kind: 2)
    static let refreshes = HandleTable<PendingRefresh>(kind: 3)
}
