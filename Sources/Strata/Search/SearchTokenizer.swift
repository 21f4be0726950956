/// How texts are cut into the words by which a search finds them.
///
/// Upper and lower case are the same for all of them.
public enum SearchTokenizer: String, Sendable, Hashable, CaseIterable {
    /// Runs of letters and digits; the diacritics of Latin letters do not count (`e` finds `é`). For texts in which spaces divide words.
    ///
    /// Source: `unicode61` of [FTS5](https://www.sqlite.org/fts5.html#unicode61_tokenizer).
    case words
    /// The same, with the endings of English words taken off: `connect` finds `connected` and `connections`.
    ///
    /// Source: `porter` of [FTS5](https://www.sqlite.org/fts5.html#porter_tokenizer).
    case stems
    /// Three characters in a row, wherever they stand, so that any part of a text finds it. Parts of one or two characters
    /// find nothing, and diacritics count. For texts without spaces, and for names and codes. The index is several times larger.
    ///
    /// Source: `trigram` of [FTS5](https://www.sqlite.org/fts5.html#the_trigram_tokenizer).
    case substrings

    /// The words in which FTS5 names it.
    var words: [String] {
        switch self {
        case .words: ["unicode61", "remove_diacritics", "2"]
        case .stems: ["porter", "unicode61", "remove_diacritics", "2"]
        case .substrings: ["trigram"]
        }
    }
}
