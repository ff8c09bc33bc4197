/// A policy for prompts of the user's desktop keyring, for example for the password that unlocks the keyring.
public enum PromptPolicy: Sendable {
    /// An operation that needs a prompt fails. This is the default, so that programs without a user never
    /// wait.
    case never
    /// The desktop keyring may show a prompt, for at most two minutes.
    case allowed
}
