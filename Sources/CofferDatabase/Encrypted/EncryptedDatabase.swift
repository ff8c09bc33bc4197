import GRDB

/// Databases that are encrypted page by page, through GRDB.
public enum EncryptedDatabase {}
