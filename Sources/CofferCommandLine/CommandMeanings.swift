/// The commands that people look for under the names that other programs use.
package enum CommandMeanings {
    /// Returns the commands of the program that `word` may mean, without the program's name.
    package static func commands(for word: String) -> [String] { inProgram[word] ?? [] }

    /// Returns the commands of a group that `word` may mean, the most likely one first. A group has only some
    /// of them.
    package static func commandsInGroup(for word: String) -> [String] {
        inGroups.first { $0.words.contains(word) }?.commands ?? []
    }

    private static let inProgram: [String: [String]] = [
        "open": ["unlock"], "login": ["unlock", "oauth login"],
        "close": ["lock"], "logout": ["lock", "oauth logout"],
        "create": ["init"], "new": ["init"], "setup": ["init"],
        "set": ["token put"], "put": ["token put"], "store": ["token put", "file add"],
        "save": ["token put", "file add"],
        "show": ["token get", "file cat"], "read": ["token get", "file cat"],
        "edit": ["file view --writable"],
        "ls": ["token list", "file list"], "list": ["token list", "file list"],
        "mv": ["token rename", "file rename"], "move": ["token rename", "file rename"],
        "rename": ["token rename", "file rename"],
        "cp": ["token copy"], "copy": ["token copy"],
        "rm": ["token remove", "file remove"], "remove": ["token remove", "file remove"],
        "delete": ["token remove", "file remove"], "del": ["token remove", "file remove"],
        "erase": ["wipe"], "destroy": ["wipe"],
        "password": ["passcode"], "rekey": ["rotate"], "class": ["reclass"],
        "config": ["settings"], "info": ["status"], "restore": ["backup restore"],
    ]

    private static let inGroups: [(words: [String], commands: [String])] = [
        (["get", "show", "cat", "read", "print"], ["get", "cat", "query", "show"]),
        (
            ["put", "set", "store", "save", "add", "insert", "create", "new"],
            ["put", "add", "upsert", "set"]
        ),
        (["ls", "list", "dir"], ["list", "keys"]),
        (["find", "search"], ["query", "list"]),
        (["rm", "remove", "delete", "del", "erase", "destroy", "drop"], ["remove"]),
        (["mv", "move", "rename", "ren"], ["rename"]),
        (["cp", "copy"], ["copy", "export"]),
        (["open"], ["view"]),
        (["edit"], ["view --writable"]),
        (["check"], ["verify"]),
        (["update"], ["put", "upsert", "change"]),
    ]
}
