import ArgumentParser

/// The length of a list.
struct ListOptions: ParsableArguments {
    @Option(help: "The greatest number of entries.")
    var limit = 50

    func validate() throws {
        guard (1...1_000_000).contains(limit) else {
            throw ValidationError("--limit must be between 1 and 1000000.")
        }
    }

    /// Says that a list is incomplete.
    static func noteMore(on console: Console) {
        console.note("There are more. Pass a greater --limit to see them.")
    }
}
