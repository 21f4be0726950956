extension HomeDescription {
    /// The part of the store that a program with earlier models uses: its own tables, with the columns that it knows.
    ///
    /// Each migration decides whether nodes with the earlier models continue, and keeps or raises the ``generation``. A
    /// running node compares this generation with its own, and so does this function. So a program can start exactly if
    /// it could have continued without a restart.
    ///
    /// - Parameter program: the description of the program's models.
    /// - Returns: nil if the store did not have these models before, or if a migration since then has stopped nodes.
    func part(for program: HomeDescription) -> HomeDescription? {
        guard format == program.format, earlier.contains(program.earlierEntry(in: generation)) else { return nil }
        var part = program
        (part.generation, part.earlier) = (generation, earlier)
        let known = tablesByName
        for (index, table) in program.tables.enumerated() {
            // Migrations that nodes continue with add columns after the others. The columns of the home have the
            // default values for rows of even older programs.
            let columns = known[UTF8Text(table.name)]?.columns.prefix(table.columns.count) ?? []
            guard Set(columns.map { UTF8Text($0.name) }) == Set(table.columns.map { UTF8Text($0.name) }) else {
                return nil
            }
            part.tables[index].columns = Array(columns)
        }
        return part
    }

    /// Whether the store had the models of a program before one of its migrations.
    func hadModels(of program: HomeDescription) -> Bool {
        let key = program.key
        // An entry without a generation is from before homes recorded it.
        return earlier.contains { $0.hasSameBytes(as: key) || $0.hasBytePrefix(key + " ") }
    }

    /// The entry of ``earlier`` for these models.
    ///
    /// - Parameter generation: the generation of the store while it had these models.
    func earlierEntry(in generation: Int64) -> String { "\(key) \(generation)" }

    /// A text from which a program recognises its models among those that a home has had: a hash of the models, their
    /// version, and the steps.
    var key: String {
        let texts = ["\(version)", schema] + steps.sortedByBytes()
        var hash = StableHash()
        // A zero ends each text.
        for text in texts {
            hash.combine(text.utf8)
            hash.combine(CollectionOfOne(0))
        }
        return String(hash.value, radix: 16)
    }
}
