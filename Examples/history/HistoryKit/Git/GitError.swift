/// Why git did not give what it was asked for.
public struct GitError: Error, Sendable, Equatable {
    public enum Code: Sendable, Equatable {
        /// There is no program `git` on the search path.
        case notInstalled
        /// The folder is none, or is in no repository.
        case notARepository
        /// Git ended with this exit status.
        case failed(status: Int32)
        /// Git was ended by this signal.
        case killed(signal: Int32)
        /// The file of `--input` cannot be read.
        case cannotRead
    }

    public let code: Code
    /// What happened, in a sentence; for ``Code/failed(status:)`` what git wrote to standard error.
    public let message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Reads git's own words, which are in English since it runs under `LC_ALL=C`.
    static func failed(status: Int32, standardError: String) -> GitError {
        let text = TextWidth.printable(standardError.trimmingSuffix(), keepingLines: true)
        let isFolder = ["not a git repository", "cannot change to"].contains { text.contains($0) }
        return GitError(isFolder ? .notARepository : .failed(status: status), text)
    }
}

extension GitError: CustomStringConvertible {
    public var description: String {
        switch code {
        case .failed(let status): "git ended with status \(status): \(message)"
        case .killed(let signal): "git was ended by signal \(signal)"
        case .notInstalled, .notARepository, .cannotRead: message
        }
    }
}

extension String {
    fileprivate func trimmingSuffix() -> String {
        var text = self[...]
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
