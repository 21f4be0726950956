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
            let text = StrataCommand.fullMessage(for: error, columns: nil)
            let code = StrataCommand.exitCode(for: error)
            guard code.isSuccess else {
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
