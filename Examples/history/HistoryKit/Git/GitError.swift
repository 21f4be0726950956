/// A failure of git.
public struct GitError: Error, Sendable, Equatable {
    public enum Code: Sendable, Equatable {
        /// The search path does not contain a program `git`.
        case notInstalled
        /// The folder does not exist, or it is not in a repository.
        case notARepository
        /// Git ended with this exit status.
        case failed(status: Int32)
        /// This signal ended git.
        case killed(signal: Int32)
        /// The file of `--input` cannot be read.
        case cannotRead
    }

    public let code: Code
    /// A sentence that describes the failure. For ``Code/failed(status:)``, the text that git wrote to standard error.
    public let message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Interprets git's error text. The text is in English, because git runs under `LC_ALL=C`.
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
