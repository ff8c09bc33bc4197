#if SecretService
    import CofferBase
    import CGIO

    /// A converter from the GLib error of a failed call to a `CofferError`.
    enum BusFailure {
        /// Returns the error for `call`, and takes ownership of `error`.
        static func taking(_ error: UnsafeMutablePointer<GError>?, _ call: String) -> CofferError {
            guard let error = unsafe error else {
                return CofferError(
                    .internalFailure, "The D-Bus call \(call) failed.")
            }
            defer { unsafe g_error_free(error) }
            if unsafe g_error_matches(error, g_io_error_quark(), CInt(G_IO_ERROR_TIMED_OUT.rawValue)) != 0
                || g_error_matches(error, g_io_error_quark(), CInt(G_IO_ERROR_CANCELLED.rawValue)) != 0
            {
                return timedOut
            }
            if unsafe g_error_matches(error, g_io_error_quark(), CInt(G_IO_ERROR_CLOSED.rawValue)) != 0 {
                return interrupted
            }
            guard let name = unsafe g_dbus_error_get_remote_error(error) else {
                return CofferError(.internalFailure, "The D-Bus call \(call) failed on the message bus.")
            }
            defer { unsafe g_free(name) }
            return unsafe remoteError(String(cString: name), call)
        }

        static var timedOut: CofferError {
            CofferError(.timedOut, "The Secret Service did not respond in time. Try again.")
        }

        static var interrupted: CofferError {
            CofferError(
                .interrupted, "The connection to the Secret Service was lost during a call. Try again.")
        }

        private static func remoteError(_ name: String, _ call: String) -> CofferError {
            switch name {
            case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner":
                CofferError(.noSecretService, "No Secret Service is available on the session bus.")
            case let name where name.utf8.hasPrefix("org.freedesktop.DBus.Error.Spawn."):
                CofferError(.noSecretService, "The session bus could not start the Secret Service.")
            case "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Disconnected": interrupted
            case "org.freedesktop.DBus.Error.Timeout", "org.freedesktop.DBus.Error.TimedOut": timedOut
            case "org.freedesktop.Secret.Error.IsLocked":
                CofferError(
                    .keyringLocked,
                    "The desktop keyring is locked. Unlock the keyring on the desktop, then try again.")
            case "org.freedesktop.Secret.Error.NoSuchObject", "org.freedesktop.DBus.Error.UnknownObject",
                "org.freedesktop.DBus.Error.UnknownMethod", "org.freedesktop.DBus.Error.UnknownInterface":
                CofferError(.absent, "The requested item does not exist in the Secret Service.")
            case "org.freedesktop.DBus.Error.AccessDenied":
                CofferError(.permissionDenied, "The session bus denied the call \(call).")
            case "org.freedesktop.DBus.Error.NoMemory", "org.freedesktop.DBus.Error.LimitsExceeded":
                CofferError(.noSpace, "The Secret Service lacks the resources for the call \(call).")
            default:
                CofferError(
                    .internalFailure, "The Secret Service rejected the call \(call) with the error \(name).")
            }
        }
    }
#endif
