import Foundation
import PressKit

/// The program.
@main struct Main {
    static func main() async {
        // If the output is closed, writing to it must fail with an error instead of a signal.
        signal(SIGPIPE, SIG_IGN)
        exit(
            await PressProgram.run(
                arguments: CommandLine.arguments,
                environment: ProcessInfo.processInfo.environment
            )
        )
    }
}
