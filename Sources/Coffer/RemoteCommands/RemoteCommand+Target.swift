public import FoundationEssentials

extension RemoteCommand {
    /// The recipient of a command.
    public enum Target: Sendable, Hashable {
        /// The vault with this id.
        case vault(UUID)
        /// Every vault on this machine in which the signer's key is pinned.
        case device(DeviceID)
    }
}
