public import FoundationEssentials

extension RemoteCommand {
    /// The recipient of a command.
    public enum Target: Sendable, Hashable {
        /// One vault.
        case vault(UUID)
        /// Every vault on one machine in which the signer's key is pinned.
        case device(DeviceID)
    }
}
