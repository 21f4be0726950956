import ArgumentParser

/// The account that a command works on.
struct AccountOptions: ParsableArguments {
    @Option(help: "The id of the account. It may be left out if the store has only one.")
    var account: String?
}
