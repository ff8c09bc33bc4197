import CPKCS11

/// The descriptions of the module, its slot, its token and its sessions.
extension ModuleFunctions {
    private static let maker = "Coffer"

    /// Writes a text into a field of fixed size, whose rest is spaces.
    private static func write(_ text: String, _ field: UnsafeMutableRawBufferPointer) {
        let bytes = Array(text.utf8.prefix(field.count))
        for index in field.indices {
            unsafe field[index] = index < bytes.count ? bytes[index] : UInt8(ascii: " ")
        }
    }

    static func info(_ place: UnsafeMutablePointer<ck_info>?) -> UInt {
        answer { (module) throws(ModuleFailure) in
            guard let place = unsafe place else { throw .argumentsBad }
            var info = ck_info()
            info.cryptoki_version = ck_version(major: 2, minor: 40)
            info.library_version = ck_version(major: module.version.major, minor: module.version.minor)
            unsafe withUnsafeMutableBytes(of: &info.manufacturer_id) { unsafe write(maker, $0) }
            unsafe withUnsafeMutableBytes(of: &info.library_description) {
                unsafe write("Coffer key pairs", $0)
            }
            unsafe place.pointee = info
        }
    }

    static func slotInfo(_ number: UInt, _ place: UnsafeMutablePointer<ck_slot_info>?) -> UInt {
        answer { (_) throws(ModuleFailure) in
            try checkSlot(number)
            guard let place = unsafe place else { throw .argumentsBad }
            var info = ck_slot_info()
            unsafe withUnsafeMutableBytes(of: &info.slot_description) {
                unsafe write("Coffer vault", $0)
            }
            unsafe withUnsafeMutableBytes(of: &info.manufacturer_id) { unsafe write(maker, $0) }
            // CKF_TOKEN_PRESENT
            info.flags = 1
            unsafe place.pointee = info
        }
    }

    static func tokenInfo(_ number: UInt, _ place: UnsafeMutablePointer<ck_token_info>?) -> UInt {
        answer { (module) throws(ModuleFailure) in
            try checkSlot(number)
            guard let place = unsafe place else { throw .argumentsBad }
            var info = ck_token_info()
            unsafe withUnsafeMutableBytes(of: &info.label) { unsafe write(module.label, $0) }
            unsafe withUnsafeMutableBytes(of: &info.manufacturer_id) { unsafe write(maker, $0) }
            unsafe withUnsafeMutableBytes(of: &info.model) { unsafe write("vault", $0) }
            unsafe withUnsafeMutableBytes(of: &info.serial_number) { unsafe write(module.serial, $0) }
            unsafe withUnsafeMutableBytes(of: &info.utc_time) { unsafe write("", $0) }
            // CKF_RNG, CKF_WRITE_PROTECTED, CKF_LOGIN_REQUIRED, CKF_USER_PIN_INITIALIZED,
            // CKF_PROTECTED_AUTHENTICATION_PATH and CKF_TOKEN_INITIALIZED
            info.flags = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 8 | 1 << 10
            info.max_session_count = UInt(module.mostSessions)
            info.session_count = UInt(module.sessionCount)
            // CK_UNAVAILABLE_INFORMATION
            (info.total_public_memory, info.free_public_memory) = (.max, .max)
            (info.total_private_memory, info.free_private_memory) = (.max, .max)
            unsafe place.pointee = info
        }
    }

    static func sessionInfo(_ session: UInt, _ place: UnsafeMutablePointer<ck_session_info>?) -> UInt {
        answer { (module) throws(ModuleFailure) in
            try module.checkSession(session)
            guard let place = unsafe place else { throw .argumentsBad }
            // CKS_RO_USER_FUNCTIONS or CKS_RO_PUBLIC_SESSION; CKF_SERIAL_SESSION
            unsafe place.pointee = ck_session_info(
                slot_id: 0, state: module.isLoggedIn ? 1 : 0, flags: 1 << 2, device_error: 0)
        }
    }
}
