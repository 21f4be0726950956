extension SchemaDescription {
    /// Parses a text that ``description`` created.
    ///
    /// - Throws: ``StrataError`` with `damagedStore` for an invalid text, because only Strata writes such texts into a
    ///   store.
    init(parsing text: String) throws {
        tables = []
        for line in try SchemaLine.lines(of: text) { try read(line) }
    }

    private mutating func read(_ line: SchemaLine) throws {
        var line = line
        if line.isIndented {
            guard !tables.isEmpty else { throw line.error }
            return try tables[tables.count - 1].read(&line)
        }
        let kind = try line.word()
        switch kind {
        case "model":
            let model = try line.word()
            let table = line.skip(word: "table") ? try line.word() : model
            tables.append(
                TableDescription(content: .model(model), name: table, columns: [], uniques: [], indexes: [])
            )
        case "members", "places":
            let (near, far) = try line.paths()
            tables.append(TableDescription(near: near, far: far, isPlaces: kind == "places"))
        default: throw line.error
        }
        try line.end()
    }
}

extension TableDescription {
    fileprivate mutating func read(_ line: inout SchemaLine) throws {
        let name = try line.word()
        if line.isAtList {
            let names = try line.words()
            switch name {
            case "unique": uniques.append(ColumnIndex(names, present: try line.present()))
            case "index": indexes.append(ColumnIndex(names, present: try line.present()))
            case "search":
                guard let tokenizer = SearchTokenizer(rawValue: try line.word()) else { throw line.error }
                search = SearchDescription(columns: names, tokenizer: tokenizer, prefixes: try line.numbers())
            default: throw line.error
            }
            return try line.end()
        }
        guard let type = ColumnType(rawValue: try line.word()) else { throw line.error }
        let isOptional = line.skip(word: "optional")
        var content = ColumnDescription.Content.plain
        if line.skip(word: "decimal") { content = .decimal }
        if line.skip(word: "external") { content = .external }
        if line.skip(word: "to") { content = .reference(try line.word()) }
        var column = ColumnDescription(name: name, type: type, isOptional: isOptional, content: content)
        column.valueType = line.skip(word: "of") ? try line.word() : column.usualType
        if line.skip(word: "checked") { column.rules = try line.words() }
        columns.append(column)
        try line.end()
    }
}

/// A line of the text of a ``SchemaDescription``, parsed from left to right.
private struct SchemaLine {
    enum Token: Equatable {
        case word(String)
        case mark(Character)
    }

    var isIndented = false
    private var tokens: ArraySlice<Token> = []

    var error: StrataError {
        StrataError(
            .damagedStore,
            "The schema description in the store cannot be read (\(tokens)). Restore a backup of the file."
        )
    }

    /// The lines of the text that are not empty.
    static func lines(of text: String) throws -> [SchemaLine] {
        var lines: [SchemaLine] = []
        var line = SchemaLine()
        var rest = text[...]
        while let character = rest.first {
            // Compares the Unicode scalar, because a combining mark after the quotation mark would change the
            // character.
            if rest.unicodeScalars.first == "\"" {
                line.tokens.append(.word(try quoted(&rest)))
                continue
            }
            if character.isPartOfWord {
                let word = rest.prefix(while: \.isPartOfWord)
                line.tokens.append(.word(String(word)))
                rest = rest.dropFirst(word.count)
                continue
            }
            rest.removeFirst()
            switch character {
            case "\n":
                if !line.tokens.isEmpty { lines.append(line) }
                line = SchemaLine()
            case " ": if line.tokens.isEmpty { line.isIndented = true }
            default: line.tokens.append(.mark(character))
            }
        }
        if !line.tokens.isEmpty { lines.append(line) }
        return lines
    }

    /// Parses a name in quotation marks. Quotation marks within the name are doubled.
    private static func quoted(_ rest: inout Substring) throws -> String {
        var name = ""
        repeat {
            rest.unicodeScalars.removeFirst()
            guard let end = rest.unicodeScalars.firstIndex(of: "\"") else { throw SchemaLine().error }
            name += rest[..<end]
            rest = rest[rest.unicodeScalars.index(after: end)...]
            guard rest.unicodeScalars.first == "\"" else { return name }
            name += "\""
        } while true
    }

    mutating func word() throws -> String {
        guard case .word(let word) = tokens.first else { throw error }
        tokens.removeFirst()
        return word
    }

    var isAtList: Bool { tokens.first == .mark("(") }

    /// Parses words in parentheses.
    mutating func words() throws -> [String] {
        guard skip("(") else { throw error }
        var words = [try word()]
        while skip(",") { words.append(try word()) }
        guard skip(")") else { throw error }
        return words
    }

    /// Parses all remaining words, which are numbers.
    mutating func numbers() throws -> [Int] {
        var numbers: [Int] = []
        while case .word(let word) = tokens.first {
            guard let number = Int(word) else { throw error }
            numbers.append(number)
            tokens.removeFirst()
        }
        return numbers
    }

    /// Parses the column that must have a value in the rows of a partial index; nil if the line does not name one.
    mutating func present() throws -> String? { skip(word: "present") ? try word() : nil }

    mutating func skip(_ mark: Character) -> Bool { skip(.mark(mark)) }
    mutating func skip(word: String) -> Bool { skip(.word(word)) }

    private mutating func skip(_ token: Token) -> Bool {
        guard tokens.first == token else { return false }
        tokens.removeFirst()
        return true
    }

    mutating func paths() throws -> (PropertyPath, PropertyPath) {
        let near = try path()
        guard skip(",") else { throw error }
        return (near, try path())
    }

    private mutating func path() throws -> PropertyPath {
        let table = try word()
        guard skip(".") else { throw error }
        return PropertyPath(table: table, property: try word())
    }

    func end() throws {
        guard tokens.isEmpty else { throw error }
    }
}
