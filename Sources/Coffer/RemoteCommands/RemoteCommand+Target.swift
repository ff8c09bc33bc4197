public import FoundationEssentials

extension RemoteCommand {
    /// The recipient of a command.
    public enum Target: Sendable, Hashable {
        /// One vault.
        case vault(UUID)
        /// Every vault on one machine that has the signer's key pinned.
        case device(DeviceID)
    }
}
