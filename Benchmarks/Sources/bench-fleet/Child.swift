import Foundation

/// Another process of this program, with which this one exchanges lines. The process ends with its standard input.
final class Child {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var received = Data()

    init(_ arguments: [String]) throws {
        let path = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        // Other processes must not inherit this end of the pipe.
        _ = fcntl(input.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
        try process.run()
    }

    func send(_ line: String) throws { try input.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8)) }

    /// Waits for the next line of the process.
    func line() throws -> String {
        while true {
            if let end = received.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: received[..<end], as: UTF8.self)
                received = Data(received[received.index(after: end)...])
                return line
            }
            let data = output.fileHandleForReading.availableData
            if data.isEmpty { throw FleetError("a process has ended early; its message is above") }
            received += data
        }
    }

    func expect(_ line: String) throws {
        let found = try self.line()
        guard found == line else { throw FleetError("a process has answered '\(found)' instead of '\(line)'") }
    }

    /// Ends the process, and waits for its end. All of its work is stored.
    func end() {
        try? input.fileHandleForWriting.close()
        if process.isRunning { process.terminate() }
        process.waitUntilExit()
    }
}
