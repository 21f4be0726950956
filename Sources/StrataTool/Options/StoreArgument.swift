import ArgumentParser

/// The store that a command works on. Every command of stores has it as an option group.
struct StoreArgument: ParsableArguments {
    @Argument(help: "The file of the store.", completion: .file())
    var store: String

    func validate() throws {
        // The library would take the empty name for the current folder.
        if store.utf8.isEmpty { throw ValidationError("The name of the store is empty. Name the file of a store.") }
    }
}
