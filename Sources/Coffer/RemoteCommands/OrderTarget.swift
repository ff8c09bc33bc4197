public import FoundationEssentials

/// The recipient of an order.
public enum OrderTarget: Sendable, Hashable {
    /// One vault.
    case vault(UUID)
    /// Every vault on one machine that has pinned the signer's key.
    case device(DeviceID)
}
