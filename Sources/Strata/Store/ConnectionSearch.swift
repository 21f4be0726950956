/// A connection's state for searches: tokenizers, and the words of pending rows.
///
/// Isolation: that of its connection, which releases this object before it closes.
final class ConnectionSearch {
    private var tokenizers: [SearchTokenizer: FTS5Tokenizer] = [:]
    private var pending: [Int: PendingSearch] = [:]

    func tokenizer(_ kind: SearchTokenizer, on connection: Connection) throws -> FTS5Tokenizer {
        if let known = tokenizers[kind] { return known }
        let fts5 = try FTS5(of: connection.pointer)
        // Every search requests the tokenizer first, so the first request registers the functions for search.
        if tokenizers.isEmpty { try fts5.register() }
        let made = try fts5.tokenizer(kind)
        tokenizers[kind] = made
        return made
    }

    func pending(_ entity: Int) -> PendingSearch {
        if let known = pending[entity] { return known }
        let made = PendingSearch()
        pending[entity] = made
        return made
    }

    /// Forgets temporary tables after a rollback, because the rolled-back transaction may have created them.
    func forgetPending() {
        for pending in pending.values { pending.forget() }
    }

    func removeAll() {
        tokenizers.removeAll()
        pending.removeAll()
    }
}

/// The words of an entity's pending rows, in a temporary FTS5 table.
final class PendingSearch {
    /// The rows whose words are in the table, with a hash of their texts.
    private var rows: [Int64: Int] = [:]
    private var isMade = false
    private var version: Int?
    /// The number of hidden rows of the store, and the number of their words.
    private(set) var hidden: (rows: Int64, words: Int64) = (0, 0)
    private var hiddenAt: (version: Int, sequence: Int64)?
    /// The numbers of words of the store's rows that were looked up, as of one commit. Nil for rows that do not exist.
    private var sizes: (sequence: Int64, words: [Int64: Int64?]) = (-1, [:])

    /// Updates the table to the rows that the connection's overlay shows.
    ///
    /// Complexity: O(pending rows). Only rows with new texts are tokenized.
    func update(_ info: EntityInfo, _ index: SearchIndex, on connection: Connection) throws {
        guard version != connection.overlay.version else { return }
        do {
            try bring(info, index, upTo: connection.overlay, on: connection)
        } catch {
            // The table's content is unknown after an error, because SQLite may have rolled everything back.
            forget()
            throw error
        }
    }

    /// Forces the table to be created again when it is next needed.
    func forget() {
        (rows, isMade, version) = ([:], false, nil)
        // The number of a commit that was rolled back is used again.
        (hiddenAt, sizes) = (nil, (-1, [:]))
    }

    private func bring(
        _ info: EntityInfo,
        _ index: SearchIndex,
        upTo overlay: Overlay,
        on connection: Connection
    ) throws {
        if !isMade {
            // The table may be there with old rows. While a cursor is open, it cannot be dropped.
            try connection.execute(SearchSQL.createPending(index.description, info.index))
            try connection.execute(SearchSQL.clearPending(info.index))
            isMade = true
        }
        let pending = overlay.rows(of: info.index)
        let remove = SearchSQL.deletePending(info.index)
        let add = SearchSQL.insertPending(index.description, info.index)
        var gone = rows
        for place in pending.visible {
            let texts = try index.columns.map { try pending.value(of: place, $0) }
            let (known, hash) = (gone.removeValue(forKey: place.number), Self.hash(texts))
            if known == hash { continue }
            if known != nil { try connection.execute(remove, [.integer(place.number)]) }
            rows[place.number] = nil
            try connection.execute(add, [.integer(place.number)] + texts)
            rows[place.number] = hash
        }
        for number in gone.keys {
            try connection.execute(remove, [.integer(number)])
            rows[number] = nil
        }
        version = overlay.version
    }

    /// Hashes bytes, because other spellings of the same characters are other words.
    private static func hash(_ texts: [StoredValue]) -> Int {
        var hasher = Hasher()
        for case .text(var text) in texts {
            text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
            hasher.combine(text.utf8.count)
        }
        hasher.combine(texts.map { $0 == .null })
        return hasher.finalize()
    }

    /// Counts the rows of the store that pending rows hide, and their words.
    func countHidden(_ info: EntityInfo, on connection: Connection) throws {
        let key = (version: connection.overlay.version, sequence: try connection.sequence())
        if let hiddenAt, hiddenAt == key { return }
        var hidden: (rows: Int64, words: Int64) = (0, 0)
        let sql = SearchSQL.sizes(of: info.table)
        if sizes.sequence != key.sequence { sizes = (key.sequence, [:]) }
        var seen = Set<Int64>()
        for part in connection.overlay.rows(of: info.index).parts {
            for number in part.ids where seen.insert(number).inserted {
                let words: Int64?
                if let known = sizes.words[number] {
                    words = known
                } else {
                    words = try connection.value(sql, [.integer(number)]).flatMap(SearchSQL.sum)
                    sizes.words[number] = .some(words)
                }
                guard let words else { continue }
                hidden.rows += 1
                hidden.words += words
            }
        }
        self.hidden = hidden
        hiddenAt = key
    }
}

extension Connection {
    func searchSource(_ model: ModelSchema, _ schema: Schema) throws -> SearchSource {
        guard let info = schema.info(named: model.name) else { return try .stored(model) }
        return try searchSource(info)
    }

    /// The tables to search for objects of a model, including the layers that this connection shows.
    func searchSource(_ info: EntityInfo) throws -> SearchSource {
        let index = try info.search.orNotSearchable(info.name)
        let tokenizer = try search.tokenizer(index.description.tokenizer, on: self)
        var stored = SearchSource.storedPart(info.table)
        var parts = [stored]
        var pending: PendingSearch?
        if overlay.parts[info.index] != nil {
            pending = search.pending(info.index)
            try pending?.update(info, index, on: self)
            stored.hidden = Overlay.functionName(info.index)
            parts = [
                stored,
                SearchSource.Part(
                    table: SearchSQL.pendingTable(info.index).quotedIdentifier,
                    rows: Overlay.tableName(info.index)
                ),
            ]
        }
        return SearchSource(index: index, parts: parts, words: tokenizer.searchedWords) { [parts, pending] phrases in
            var statistics = SearchStatistics(rows: 0, words: 0, matches: phrases.map { $0.isWanted ? 0 : nil })
            for part in parts {
                let totals = try self.row(SearchSQL.totals(part.table))
                if case .integer(let rows) = totals.first, case .integer(let words) = totals.last {
                    statistics.rows += rows
                    statistics.words += words
                }
                let count = SearchSQL.count(in: part.table, unless: part.hidden)
                for (place, phrase) in phrases.enumerated() where phrase.isWanted {
                    statistics.matches[place]? += try self.integer(count, [.text(phrase.text)]) ?? 0
                }
            }
            if let pending {
                try pending.countHidden(info, on: self)
                statistics.rows -= pending.hidden.rows
                statistics.words -= pending.hidden.words
            }
            return statistics
        }
    }
}
