/// Whether the user's desktop keyring may prompt the user, for example for the password that unlocks it.
public enum PromptPolicy: Sendable {
    /// An operation that needs a prompt fails. This is the default, so that programs that run unattended
    /// never wait.
    case never
    /// The desktop keyring may show a prompt, for at most two minutes.
    case allowed
}
