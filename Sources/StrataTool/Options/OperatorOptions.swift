import ArgumentParser
import Foundation

/// The person who makes a change.
struct OperatorOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Your name, which the store records for other operators. The default is the login name.",
            valueName: "name"
        )
    )
    var by: String?

    var name: String { by ?? NSUserName() }

    func validate() throws {
        if name.utf8.isEmpty { throw ValidationError("Name yourself with --by.") }
    }
}
