import CofferEngine
import CPKCS11
import Synchronization

/// The functions of PKCS #11 that the module has: they check what comes from C, and ask the module.
enum ModuleFunctions {
    private static let slot: UInt = 0
    /// The maximum number of attributes in one call; no object has more.
    private static let mostAttributes: UInt = 256
    /// The maximum number of bytes of a value that is searched for, of a parameter and of data to sign.
    private static let largestValue: UInt = 1 << 20
    private static let largestParameter: UInt = 4096
    /// The maximum number of objects or random bytes in one answer.
    private static let mostObjects: UInt = 4096
    private static let mostRandom: UInt = 1 << 20

    static func answer(_ body: (any TokenModule) throws(ModuleFailure) -> Void) -> UInt {
        guard let service = ModuleServer.served.withLock({ $0 }), service.isInitialized else {
            return ModuleFailure.notInitialized.code
        }
        do throws(ModuleFailure) {
            try body(service.module)
            return ModuleFailure.ok
        } catch {
            return error.code
        }
    }

    static func checkSlot(_ number: UInt) throws(ModuleFailure) {
        guard number == slot else { throw .slotUnknown }
    }

    /// Returns a copy of bytes from C.
    static func copy(
        _ bytes: UnsafeRawPointer?, _ count: UInt, atMost limit: UInt
    ) throws(ModuleFailure) -> [UInt8] {
        guard count <= limit else { throw .argumentsBad }
        guard count > 0 else { return [] }
        guard let bytes = unsafe bytes else { throw .argumentsBad }
        return unsafe Array(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
    }

    /// Writes a list for C: the number alone if there is no place for the list.
    private static func write(
        _ values: [UInt], _ list: UnsafeMutablePointer<UInt>?, _ count: UnsafeMutablePointer<UInt>?
    ) throws(ModuleFailure) {
        guard let count = unsafe count else { throw .argumentsBad }
        let room = unsafe count.pointee
        unsafe count.pointee = UInt(values.count)
        guard let list = unsafe list else { return }
        guard room >= UInt(values.count) else { throw .bufferTooSmall }
        for (index, value) in values.enumerated() { unsafe list[index] = value }
    }

    // MARK: The token

    static func initialize() -> UInt {
        let module = ModuleServer.served.withLock { service -> (any TokenModule)? in
            guard service?.isInitialized == false else { return nil }
            service?.isInitialized = true
            return service?.module
        }
        guard let module else { return ModuleFailure.alreadyInitialized.code }
        // Another thread may have opened one while the client finalized the module.
        module.closeAllSessions()
        return ModuleFailure.ok
    }

    static func finalize(_ reserved: UnsafeMutableRawPointer?) -> UInt {
        guard unsafe reserved == nil else { return ModuleFailure.argumentsBad.code }
        return answer { (module) throws(ModuleFailure) in
            ModuleServer.served.withLock { (service) -> Void in service?.isInitialized = false }
            module.closeAllSessions()
        }
    }

    static func slots(_ list: UnsafeMutablePointer<UInt>?, _ count: UnsafeMutablePointer<UInt>?) -> UInt {
        answer { (_) throws(ModuleFailure) in try unsafe write([slot], list, count) }
    }

    static func mechanisms(
        _ number: UInt, _ list: UnsafeMutablePointer<UInt>?, _ count: UnsafeMutablePointer<UInt>?
    ) -> UInt {
        answer { (module) throws(ModuleFailure) in
            try checkSlot(number)
            try unsafe write(module.mechanisms.map(\.type), list, count)
        }
    }

    static func mechanismInfo(
        _ number: UInt, _ type: UInt, _ info: UnsafeMutablePointer<ck_mechanism_info>?
    ) -> UInt {
        answer { (module) throws(ModuleFailure) in
            try checkSlot(number)
            guard let info = unsafe info else { throw .argumentsBad }
            guard let known = module.mechanisms.first(where: { $0.type == type }) else {
                throw .mechanismInvalid
            }
            // CKF_SIGN
            unsafe info.pointee = ck_mechanism_info(
                min_key_size: known.keySizes.lowerBound, max_key_size: known.keySizes.upperBound,
                flags: 1 << 11 | known.curveFlags)
        }
    }

    static func random(_ session: UInt, _ bytes: UnsafeMutablePointer<UInt8>?, _ count: UInt) -> UInt {
        answer { (module) throws(ModuleFailure) in
            try module.checkSession(session)
            guard let bytes = unsafe bytes, count <= mostRandom else { throw .argumentsBad }
            guard let drawn = try? SecureRandom.bytes(Int(count)) else { throw .functionFailed }
            for index in drawn.indices { unsafe bytes[index] = drawn[index] }
        }
    }

    // MARK: Sessions

    static func openSession(
        _ number: UInt, _ flags: UInt, _ session: UnsafeMutablePointer<UInt>?
    ) -> UInt {
        answer { (module) throws(ModuleFailure) in
            try checkSlot(number)
            guard let session = unsafe session else { throw .argumentsBad }
            // CKF_SERIAL_SESSION and CKF_RW_SESSION
            guard flags & 1 << 2 != 0 else { throw .sessionParallelUnsupported }
            guard flags & 1 << 1 == 0 else { throw .tokenWriteProtected }
            unsafe session.pointee = try module.openSession()
        }
    }

    static func closeSession(_ session: UInt) -> UInt {
        answer { (module) throws(ModuleFailure) in try module.closeSession(session) }
    }

    static func closeAllSessions(_ number: UInt) -> UInt {
        answer { (module) throws(ModuleFailure) in
            try checkSlot(number)
            module.closeAllSessions()
        }
    }

    static func logIn(_ session: UInt, _ user: UInt) -> UInt {
        answer { (module) throws(ModuleFailure) in
            try module.checkSession(session)
            // CKU_USER. No PIN is read: it would be the vault's passcode.
            guard user == 1 else { throw .userTypeInvalid }
            try module.logIn(session)
        }
    }

    static func logOut(_ session: UInt) -> UInt {
        answer { (module) throws(ModuleFailure) in try module.logOut(session) }
    }

    // MARK: Objects

    static func beginSearch(
        _ session: UInt, _ list: UnsafeMutablePointer<ck_attribute>?, _ count: UInt
    ) -> UInt {
        answer { (module) throws(ModuleFailure) in
            guard count <= mostAttributes else { throw .argumentsBad }
            var template: [ModuleAttribute] = []
            if count > 0 {
                guard let list = unsafe list else { throw .argumentsBad }
                for index in 0..<Int(count) {
                    let (type, value, size) = unsafe (
                        list[index].type, list[index].value, list[index].value_len
                    )
                    template.append(
                        ModuleAttribute(
                            type: type, value: try unsafe copy(value, size, atMost: largestValue)))
                }
            }
            try module.beginSearch(template, in: session)
        }
    }

    static func search(
        _ session: UInt, _ list: UnsafeMutablePointer<UInt>?, _ most: UInt,
        _ count: UnsafeMutablePointer<UInt>?
    ) -> UInt {
        answer { (module) throws(ModuleFailure) in
            guard let list = unsafe list, let count = unsafe count else { throw .argumentsBad }
            let found = try module.search(Int(min(most, mostObjects)), in: session)
            for (index, object) in found.enumerated() { unsafe list[index] = object }
            unsafe count.pointee = UInt(found.count)
        }
    }

    static func endSearch(_ session: UInt) -> UInt {
        answer { (module) throws(ModuleFailure) in try module.endSearch(in: session) }
    }

    static func attributes(
        _ session: UInt, _ object: UInt, _ list: UnsafeMutablePointer<ck_attribute>?, _ count: UInt
    ) -> UInt {
        answer { (module) throws(ModuleFailure) in
            try module.checkSession(session)
            guard let list = unsafe list, count <= mostAttributes else { throw .argumentsBad }
            var failure: ModuleFailure?
            for index in 0..<Int(count) {
                do throws(ModuleFailure) {
                    let type = unsafe list[index].type
                    let value = try module.attribute(type, of: object, in: session)
                    try unsafe write(value, &list[index])
                } catch {
                    guard error != .objectHandleInvalid else { throw error }
                    // CK_UNAVAILABLE_INFORMATION. The other attributes are answered all the same.
                    unsafe list[index].value_len = .max
                    failure = error
                }
            }
            if let failure { throw failure }
        }
    }

    private static func write(
        _ value: [UInt8], _ attribute: inout ck_attribute
    ) throws(ModuleFailure) {
        if let place = unsafe attribute.value {
            guard unsafe attribute.value_len >= UInt(value.count) else { throw .bufferTooSmall }
            unsafe place.copyMemory(from: value, byteCount: value.count)
        }
        unsafe attribute.value_len = UInt(value.count)
    }

    // MARK: Signing

    static func beginSignature(
        _ session: UInt, _ mechanism: UnsafeMutablePointer<ck_mechanism>?, _ key: UInt
    ) -> UInt {
        answer { (module) throws(ModuleFailure) in
            try module.checkSession(session)
            guard let mechanism = unsafe mechanism?.pointee else { throw .argumentsBad }
            let parameter = try unsafe copy(
                mechanism.parameter, mechanism.parameter_len, atMost: largestParameter)
            try unsafe module.beginSignature(
                ModuleMechanism(type: mechanism.mechanism, parameter: parameter), key: key, in: session)
        }
    }

    static func sign(
        _ session: UInt, _ data: UnsafeMutablePointer<UInt8>?, _ count: UInt,
        _ signature: UnsafeMutablePointer<UInt8>?, _ size: UnsafeMutablePointer<UInt>?
    ) -> UInt {
        answer { (module) throws(ModuleFailure) in
            do throws(ModuleFailure) {
                try unsafe sign(module, session, data, count, signature, size)
            } catch {
                // A question for the size leaves the operation begun, and so does too small a place.
                if error != .bufferTooSmall { module.cancelSignature(in: session) }
                throw error
            }
        }
    }

    private static func sign(
        _ module: any TokenModule, _ session: UInt, _ data: UnsafeMutablePointer<UInt8>?, _ count: UInt,
        _ signature: UnsafeMutablePointer<UInt8>?, _ size: UnsafeMutablePointer<UInt>?
    ) throws(ModuleFailure) {
        guard let size = unsafe size else { throw .argumentsBad }
        let (needed, room) = unsafe (UInt(try module.signatureSize(in: session)), size.pointee)
        unsafe size.pointee = needed
        guard let signature = unsafe signature else { return }
        guard room >= needed else { throw .bufferTooSmall }
        guard count <= largestValue else { throw .dataLengthRange }
        let made = try module.sign(unsafe copy(data, count, atMost: largestValue), in: session)
        // Another thread may have begun another signature in the meantime.
        guard UInt(made.count) <= room else { throw .functionFailed }
        for index in made.indices { unsafe signature[index] = made[index] }
        unsafe size.pointee = UInt(made.count)
    }
}
