import ArgumentParser
import Foundation
import Strata

/// The entry into the tool, for the program and for tests.
package enum Tool {
    /// The exit status of a command that was interrupted with Ctrl-C.
    package static let interrupted: Int32 = 130
    /// The exit status of a command whose reader has ended, as if SIGPIPE had ended the command.
    package static let closedPipe: Int32 = 128 + SIGPIPE

    /// Parses arguments, runs the command, and reports its failure.
    ///
    /// - Isolation: callable from anywhere.
    /// - Parameter arguments: the arguments without the name of the program.
    /// - Returns: the exit status.
    package static func run(_ arguments: [String], on console: Console) async -> Int32 {
        do {
            try checkHelp(arguments)
            var command = try StrataCommand.parseAsRoot(arguments)
            if let command = command as? any ToolCommand {
                try await command.run(on: console)
            } else {
                // A command of the argument parser, such as `help`.
                try command.run()
            }
            return EXIT_SUCCESS
        } catch {
            return report(error, on: console)
        }
    }

    /// Restores the terminal if a command fills it. For a process that ends without waiting for the command.
    package static func restoreTerminal() { TerminalScreen.restoreBeforeExit() }

    private static func report(_ error: any Error, on console: Console) -> Int32 {
        switch error {
        case let code as ExitCode: return code.rawValue
        case is CancellationError: return interrupted
        case let error as OutputError: return report(error, on: console)
        case let error as any ProductError: console.note(error.fullText)
        case let error as ToolError: console.note(error.message)
        case let error as IncompatibleStore: console.note(error.message)
        default:
            // The argument parser reports help, scripts and wrong arguments as errors.
            var text = StrataCommand.fullMessage(for: error, columns: nil)
            let code = StrataCommand.exitCode(for: error)
            guard code.isSuccess else {
                if text.hasBytePrefix("Error: ") { text = "strata: " + text.droppingFirstBytes("Error: ".utf8.count) }
                console.noteUsage(text)
                return code.rawValue
            }
            do {
                try console.print(text: text)
                return code.rawValue
            } catch {
                return report(error, on: console)
            }
        }
        return EXIT_FAILURE
    }

    /// Refuses `help` of a command that does not exist, for which the argument parser prints the help of the tool.
    private static func checkHelp(_ arguments: [String]) throws {
        guard let first = arguments.first, first.hasSameBytes(as: "help") else { return }
        var command: any ParsableCommand.Type = StrataCommand.self
        for name in arguments.dropFirst() where !name.hasBytePrefix("-") {
            let commands = command.configuration.subcommands
            let known = commands.first { ($0.configuration.commandName ?? "").hasSameBytes(as: name) }
            guard let known else {
                throw ValidationError("There is no command '\(name)'. 'strata help' lists the commands.")
            }
            command = known
        }
    }

    /// A reader that ends early, such as `head`, is not a failure that needs a message.
    private static func report(_ error: OutputError, on console: Console) -> Int32 {
        if !error.isClosedPipe || error.isAfterChange { console.note(error.message) }
        return error.isClosedPipe ? closedPipe : EXIT_FAILURE
    }
}

/// A failure that the tool itself has found.
struct ToolError: Error {
    /// What happened, to which object, and what to do.
    let message: String

    init(_ message: String) { self.message = message }
}
