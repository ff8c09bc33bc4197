/// The similarity of names, for suggestions.
package enum EditDistance {
    /// Returns the number of bytes to add, remove, change or swap with a neighbour to turn one text into
    /// another.
    package static func between(_ word: String, _ name: String) -> Int {
        let (word, name) = (Array(word.utf8), Array(name.utf8))
        var rows = [Array(0...name.count)]
        for (i, byte) in word.enumerated() {
            var row = [i + 1]
            for (j, other) in name.enumerated() {
                var least = min(rows[i][j] + (byte == other ? 0 : 1), rows[i][j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, byte == name[j - 1], word[i - 1] == other {
                    least = min(least, rows[i - 1][j - 1] + 1)
                }
                row.append(least)
            }
            rows.append(row)
        }
        return rows[word.count][name.count]
    }
}
