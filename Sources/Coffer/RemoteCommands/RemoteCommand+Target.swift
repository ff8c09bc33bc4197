public import FoundationEssentials

extension RemoteCommand {
    /// The recipient of a command.
    public enum Target: Sendable, Hashable {
        /// One vault.
        case vault(UUID)
        /// Every vault on one machine that has pinned the signer's key.
        case device(DeviceID)
    }
}
