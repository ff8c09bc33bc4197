/// The policy for prompts from the user's desktop keyring, such as the prompt for the password that unlocks
/// it.
public enum PromptPolicy: Sendable {
    /// An operation that requires a prompt fails. This case is the default, so unattended programs never wait
    /// for a user.
    case never
    /// The desktop keyring may show a prompt, for at most two minutes.
    case allowed
    /// The vault's owner decides, with `Vault.setKeyringPrompts(_:passcode:)`; without such a decision, this
    /// case is ``never``.
    case asSet
}
