/// Whether the user's keyring may ask the user, for example for the password that unlocks it.
public enum PromptPolicy: Sendable {
    /// What would have to ask fails instead. The default: programs without a person at hand never wait.
    case never
    /// The keyring may show a prompt, for at most two minutes.
    case allowed
}
