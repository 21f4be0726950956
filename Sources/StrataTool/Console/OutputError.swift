import Foundation

/// The standard output accepts no more data.
struct OutputError: Error {
    /// The value of `errno`.
    let code: Int32
    /// Whether the command has already committed its change.
    var isAfterChange = false

    /// Whether the reader has ended, as `head` does after its lines.
    var isClosedPipe: Bool { code == EPIPE }

    var message: String {
        (isAfterChange ? "The change was made, but the output" : "The output")
            + " cannot be written: \(String(cString: strerror(code)))."
    }
}

extension Console {
    /// Writes all bytes to a stream of the process.
    ///
    /// - Throws: ``OutputError``. SIGPIPE must be ignored, because the signal would end the process at once.
    static func put(_ bytes: Data, on descriptor: Int32) throws {
        try bytes.withUnsafeBytes { buffer in
            var rest = buffer[...]
            while !rest.isEmpty {
                let count = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count >= 0 {
                    rest = rest.dropFirst(count)
                    continue
                }
                let code = errno
                switch code {
                case EINTR: continue
                case EAGAIN:
                    var stream = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    _ = poll(&stream, 1, -1)
                default: throw OutputError(code: code)
                }
            }
        }
    }

    /// Prints the result of a change that is committed. If this fails, the message says that the change was made.
    func reportChange(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as OutputError {
            throw OutputError(code: error.code, isAfterChange: true)
        }
    }
}
