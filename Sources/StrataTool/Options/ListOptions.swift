import ArgumentParser

/// The length of a list.
struct ListOptions: ParsableArguments {
    @Option(help: "The greatest number of entries.")
    var limit = 50

    func validate() throws { try Self.check(limit) }

    /// Refuses a length that is out of bounds.
    ///
    /// - Throws: `ValidationError`.
    static func check(_ limit: Int) throws {
        guard (1...1_000_000).contains(limit) else { throw ValidationError("--limit must be from 1 to 1000000.") }
    }

    /// Prints the entries up to the limit, as lines of JSON or as a table. If there are more, a note says so.
    func print<Entry>(
        _ found: [Entry],
        as output: OutputOptions,
        on console: Console,
        table: ([Entry]) -> TextTable,
        json: (Entry) -> JSON
    ) throws {
        let entries = Array(found.prefix(limit))
        if output.json {
            for entry in entries { try console.print(json(entry)) }
        } else {
            try console.print(table(entries).lines)
        }
        if found.count > limit { console.note("There are more. Pass a greater --limit to see them.") }
    }
}
