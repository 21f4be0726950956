import ArgumentParser

/// The confirmation of a command that changes a store or replaces a file.
struct ConfirmationOptions: ParsableArguments {
    @Flag(name: .shortAndLong, help: "Do it without asking.")
    var yes = false

    /// Says what the command will do, and asks whether it may.
    ///
    /// - Parameter action: what the command will do, to which object, as a sentence.
    /// - Throws: ``ToolError`` if the answer is not yes, or without a terminal to ask on.
    func confirm(_ action: String, on console: Console) async throws {
        if yes { return }
        console.note(action)
        guard console.canAsk else {
            throw ToolError(
                "Nothing was changed: this command asks first, and there is no terminal to ask. Pass --yes to confirm."
            )
        }
        guard try await console.ask("Continue?") else { throw ToolError("Nothing was changed.") }
    }
}
