import Foundation
import StoreModels

/// The program `strata` on a separate pseudoterminal.
final class TerminalProgram {
    /// The text that the program writes to its terminal. The stream ends with the program.
    let output: AsyncStream<String>
    private let process: Process
    private let ended: AsyncStream<Void>

    init(_ arguments: [String]) throws {
        var (leader, follower): (Int32, Int32) = (-1, -1)
        var size = winsize(ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0)
        guard openpty(&leader, &follower, nil, nil, &size) == 0 else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
        let terminal = FileHandle(fileDescriptor: follower, closeOnDealloc: true)
        let process = Process()
        // The tests may run with ignored signals, which a program inherits. `env` becomes the program.
        process.executableURL = URL(filePath: "/usr/bin/env")
        let path = HelperProcess.folder.appendingPathComponent("strata").path
        process.arguments = ["--default-signal=HUP,QUIT", path] + arguments
        process.environment = ProcessInfo.processInfo.environment.merging(["TERM": "xterm"]) { _, new in new }
        process.standardInput = terminal
        process.standardOutput = terminal
        process.standardError = terminal
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        process.terminationHandler = { _ in end.finish() }
        try process.run()
        // Now only the program has the terminal open, so that reading ends with the program.
        try terminal.close()
        let (output, continuation) = AsyncStream.makeStream(of: String.self)
        Thread.detachNewThread { [leader] in
            var bytes = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = read(leader, &bytes, bytes.count)
                // Linux reports the end as an error.
                if count <= 0 { break }
                continuation.yield(String(decoding: bytes[..<count], as: UTF8.self))
            }
            close(leader)
            continuation.finish()
        }
        self.output = output
        self.process = process
        self.ended = ended
    }

    deinit {
        if process.isRunning { _ = kill(process.processIdentifier, SIGKILL) }
    }

    /// Sends a signal to the program.
    func send(_ signal: Int32) { _ = kill(process.processIdentifier, signal) }

    /// Waits for the end of the program. Nil if a signal has ended it.
    func exitStatus() async -> Int32? {
        for await _ in ended {}
        return process.terminationReason == .exit ? process.terminationStatus : nil
    }
}
