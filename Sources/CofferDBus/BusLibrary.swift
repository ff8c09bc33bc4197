#if SecretService
    import CGIO
#endif

/// GLib, the library that communicates with the message bus.
package enum BusLibrary {
    /// The version of the loaded library; `nil` in a build without the message bus.
    package static var version: String? {
        #if SecretService
            return "\(glib_major_version).\(glib_minor_version).\(glib_micro_version)"
        #else
            return nil
        #endif
    }
}
