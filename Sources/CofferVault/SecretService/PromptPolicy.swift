/// Whether the user's desktop keyring may prompt the user, for example for the password that unlocks it.
public enum PromptPolicy: Sendable {
    /// An operation that would need a prompt fails instead. This is the default, so programs without a user
    /// never wait.
    case never
    /// The desktop keyring may show a prompt, for at most two minutes.
    case allowed
}
