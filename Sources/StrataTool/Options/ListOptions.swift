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

    /// Says that a list is incomplete.
    static func noteMore(on console: Console) {
        console.note("There are more. Pass a greater --limit to see them.")
    }
}
