/// The advice about copies, for the help and the output of `coffer init`.
enum CopyAdvice {
    /// How to keep what an erasure takes.
    static let copies = """
        Keep a copy of everything that must not be lost: see coffer backup create.
        """

    /// How to open a vault whose passcode is forgotten.
    static let recovery = """
        If the passcode is forgotten, only a recovery key opens the vault: see coffer recovery create.
        """
}
