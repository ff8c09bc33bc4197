import CofferEngine

/// A prompt: an action that waits for the vault's unlock, on behalf of one connection.
struct ServicePrompt: Sendable {
    enum Action: Sendable {
        case unlock([String])
        case createCollection(label: String, alias: String)
        case deleteItem(ItemKey)
        case deleteCollection(String)
    }

    let owner: String
    let action: Action
    /// The time since boot at which the prompt ends as if it were dismissed.
    let end: Duration
    /// Whether the owner asked to show the prompt.
    var isShown = false

    /// The time that a prompt lasts.
    static let time = Duration.seconds(120)
    /// The most prompts of one connection.
    static let limitPerOwner = 16
    /// The most prompts of all connections together.
    static let limit = 256
}
