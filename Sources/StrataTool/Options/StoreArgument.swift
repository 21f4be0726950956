import ArgumentParser

/// The store that a command works on. Every command of stores has it as an option group.
struct StoreArgument: ParsableArguments {
    @Argument(help: "The file of the store.", completion: .file())
    var store: String
}
