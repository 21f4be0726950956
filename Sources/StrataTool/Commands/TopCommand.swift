import ArgumentParser
import Foundation
import Strata
import StrataInspection

/// `strata top`: a live picture of the store, its queues and its transfers.
struct TopCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Shows the store, its queues, running operations and transfers, again and again.",
        discussion: """
            On a terminal, the picture fills the screen, and is also drawn again when another process commits. Ctrl-C \
            ends the command. Without a terminal, each interval prints one picture as text.
            """
    )

    @OptionGroup var file: StoreArgument

    @Option(help: "The time between two pictures in seconds.")
    var interval = 1.0

    @Option(help: "The number of pictures. By default, the command runs until it is interrupted.")
    var iterations: Int?

    @Option(help: "The greatest number of running operations, and of uploads and downloads of each account.")
    var limit = 10

    func validate() throws {
        guard (0.1...86400).contains(interval) else {
            throw ValidationError("--interval must be from 0.1 to 86400 seconds.")
        }
        if let iterations, iterations < 1 { throw ValidationError("--iterations must be at least 1.") }
        try ListOptions.check(limit)
    }

    func run(on console: Console) async throws {
        let record = try await file.reading { try await $0.storeRecord() }
        try await file.reading(models: record.engineModels) { stack in
            func picture() async throws -> [String] {
                try await TopPicture(
                    of: file.store,
                    stack,
                    hasQueues: !record.queueModels.isEmpty,
                    hasAccounts: !record.accountModels.isEmpty,
                    limit: limit
                ).lines
            }
            guard let size = console.terminalSize else {
                var isFirst = true
                return try await repeating(after: nil) {
                    let lines = try await picture()
                    try console.print((isFirst ? [] : [""]) + lines)
                    isFirst = false
                }
            }
            try await TerminalScreen.show(on: console) { screen in
                try await repeating(after: stack) { try await screen.draw(picture(), size()) }
            }
        }
    }

    /// The shortest time between two pictures.
    private static let shortestPause = Duration.milliseconds(100)

    /// Calls a function at once, in each interval, and after commits, as often as the options say.
    ///
    /// - Parameter stack: the stack whose commits are followed; nil for none.
    /// - Throws: errors of the function; `CancellationError` if the task is cancelled.
    private func repeating(after stack: ContextStack?, _ body: () async throws -> Void) async throws {
        // Several events before the next picture are one.
        let (events, event) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let interval = Duration.seconds(interval)
        let clock = Task {
            while !Task.isCancelled {
                try? await Task.sleep(for: interval)
                event.yield()
            }
        }
        defer { clock.cancel() }
        let listening = stack?.listen { _ in event.yield() }
        defer { withExtendedLifetime(listening) {} }
        var iterator = events.makeAsyncIterator()
        var count = 0
        while true {
            let start = ContinuousClock.now
            try await body()
            count += 1
            if count == iterations { return }
            // Reading long queues takes a while. Most of the time is left to other work.
            try await Task.sleep(for: max(Self.shortestPause, start.duration(to: .now) * 3))
            // The stream ends when the task is cancelled.
            if await iterator.next() == nil { break }
        }
        try Task.checkCancellation()
    }
}
