/// How a search index splits texts into words.
///
/// All tokenizers ignore the difference between upper and lower case.
public enum SearchTokenizer: String, Sendable, Hashable, CaseIterable {
    /// Sequences of letters and digits, for texts in which spaces separate words. Diacritics of Latin letters are
    /// ignored (`e` finds `é`).
    ///
    /// Source: `unicode61` of [FTS5](https://www.sqlite.org/fts5.html#unicode61_tokenizer).
    case words
    /// Like `words`, but without the endings of English words: `connect` finds `connected` and `connections`.
    ///
    /// Source: `porter` of [FTS5](https://www.sqlite.org/fts5.html#porter_tokenizer).
    case stems
    /// Every sequence of three characters, so that any part of a text finds the text.
    ///
    /// Parts of one or two characters find nothing, and diacritics are significant. Use this tokenizer for texts
    /// without spaces, and for names and codes. The index is several times larger.
    ///
    /// Source: `trigram` of [FTS5](https://www.sqlite.org/fts5.html#the_trigram_tokenizer).
    case substrings

    /// The tokenizer's name and arguments in FTS5.
    var words: [String] {
        switch self {
        case .words: ["unicode61", "remove_diacritics", "2"]
        case .stems: ["porter", "unicode61", "remove_diacritics", "2"]
        case .substrings: ["trigram"]
        }
    }
}
